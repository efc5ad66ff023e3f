"""Thrift: records to columns, all records of one struct at a time, with a reference beside.

It must not know other formats, nor a Thrift library.
"""
