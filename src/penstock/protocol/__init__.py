"""The protocol that decides what is delivered: journal, publishing, window loop.

It must not use Spark, Kafka or a network of its own; all of that is handed in.
"""
