"""Compiling Protobuf schemas in a process of their own, into trees that executors read by.

The only room that uses the Protobuf library. It must not read records.
"""
