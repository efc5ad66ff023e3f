"""ORC files.

It must not know other file formats.
"""
