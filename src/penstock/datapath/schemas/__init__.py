"""Schemas of datasets and of records: kept in the lake, learned, registered. Driver only.

It must not read records itself; it learns from the samples that tasks return.
"""
