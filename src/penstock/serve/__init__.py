"""Metrics, health and a read-only API, from the lake alone or inside a run.

It reads journals and beats, writes nothing into the lake, and starts neither Spark nor a feed.
"""
