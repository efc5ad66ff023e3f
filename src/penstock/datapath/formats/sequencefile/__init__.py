"""Hadoop SequenceFiles of the values of records as they came, with their offsets as keys.

It must not know other file formats, nor look into a value.
"""
