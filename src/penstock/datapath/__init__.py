"""The data path: from the bytes of records to staged files and evidence.

It must not decide or publish anything, and it must not import Spark.
"""
