"""Maintenance of a lake, also while an owner runs: seek, replay, compact, clean.

It appends its own entries, and must not run windows.
"""
