"""Lines of text to columns, by a regular expression or by a delimiter.

It must not know other formats.
"""
