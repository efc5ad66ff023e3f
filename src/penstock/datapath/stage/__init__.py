"""Staging on executors: one pass from batches of records to staged files and their proof.

It must not publish or decide; a staged file is invisible.
"""
