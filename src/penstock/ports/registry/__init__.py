"""Schema registries that speak Confluent's API.

It must not keep schemas; the lake does that.
"""
