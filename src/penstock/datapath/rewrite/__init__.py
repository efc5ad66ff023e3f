"""The rewrite: rows of many files of one directory become one file, in order, with proof.

It must not choose files nor decide anything. Runs on executors.
"""
