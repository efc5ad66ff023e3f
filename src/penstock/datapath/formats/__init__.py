"""File formats: one folder each, for writing files and for reading them back in pieces.

It must not know datasets, windows or evidence.
"""
