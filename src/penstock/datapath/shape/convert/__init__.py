"""Converters: change the fields of records on their way, column by column.

It must not route records or write files.
"""
