"""The book of a feed: its rules, its fold, its state, the content of its entries, older formats.

It must not publish files or read records.
"""
