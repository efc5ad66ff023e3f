"""Snapshots of how far each feed is.

It only reads, and must not need a JVM.
"""
