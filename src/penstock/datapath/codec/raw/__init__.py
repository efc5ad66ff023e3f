"""Payloads as they are, in one column of bytes.

It must not look into a payload.
"""
