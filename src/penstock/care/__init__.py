"""Commands that look after a lake, also beside a live owner: seek, replay, compact, clean.

It must not run windows; it appends entries of its own.
"""
