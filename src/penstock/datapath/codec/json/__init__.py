"""JSON: payloads to columns, by the scanner, or by the reference; and rows to lines.

It must not know other formats.
"""
