"""JSON: payloads to columns, by the scanner, or by the reference.

It must not know other formats.
"""
