"""Frozen values that every room shares, and pure functions of them.

It must not act: no threads, clocks, files or signals.
"""
