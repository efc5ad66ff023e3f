"""The outside world, one folder per real thing: stores, sources, schema registries.

It must not decide what is delivered.
"""
