"""Frozen values that every room shares, and functions of values.

It must not act: no threads, clocks, files or signals.
"""
