"""JSON: payloads to columns, by templates, by a typed parser, or by the reference.

It must not know other formats.
"""
