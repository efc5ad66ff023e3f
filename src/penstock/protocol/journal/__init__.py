"""The journal of a feed: numbered entries, their fold, and the append that decides.

It must not publish files or read records.
"""
