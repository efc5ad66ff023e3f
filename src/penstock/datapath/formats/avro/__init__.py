"""Avro container files.

It must not know other file formats; records inside a file are the codec's affair.
"""
