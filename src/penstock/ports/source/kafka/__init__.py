"""Kafka: its admin client, and reading exact offset ranges through Spark.

It must not plan windows or write files.
"""
