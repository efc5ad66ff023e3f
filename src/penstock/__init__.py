"""Penstock delivers Kafka topics into a data lake, every record exactly once, and proves it."""

__version__ = "0.5.0"
