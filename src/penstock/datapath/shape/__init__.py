"""Columns in, columns out: event time, route and directories, converters.

It must not decode payloads or write files.
"""
