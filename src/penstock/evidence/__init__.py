"""Sums over positions of records, computed on whole columns.

Used by tasks, the proof and the audit; it must not read or write anything.
"""
