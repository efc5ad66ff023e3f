"""The book of a feed: when its entries are refused, what state they fold into, older formats.

It must not publish files or read records.
"""
