"""Protobuf: records to columns, all records of one message at a time, with a reference beside.

It must not know other formats, nor the Protobuf library.
"""
