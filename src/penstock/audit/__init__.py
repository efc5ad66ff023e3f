"""Compares what the journal recorded with what is in the lake and in Kafka.

It only reads, and must not repair anything.
"""
