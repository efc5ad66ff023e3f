"""Avro: records to columns, all records of one schema at a time, with a reference beside.

It must not know other formats.
"""
