"""Files of plain lines, which hold the values of records as they came.

It must not know other file formats, nor look into a value further than for line ends.
"""
