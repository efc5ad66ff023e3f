"""Avro: records to columns, all of one schema at a time, with a reference beside; rows to records.

It must not know other formats.
"""
