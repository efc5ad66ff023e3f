"""Files of JSON lines.

It must not know other file formats; the text of a row is the codec's affair.
"""
