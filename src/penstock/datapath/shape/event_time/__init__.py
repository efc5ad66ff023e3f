"""Event time: when each record happened, and whether that time is accepted.

It must not know datasets or directories.
"""
