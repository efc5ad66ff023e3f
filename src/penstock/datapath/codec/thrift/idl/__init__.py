"""Thrift's interface language: the text of a file to the tree of the struct that records are.

Runs on the driver, and when a configuration is read. It must not read files itself.
"""
