"""Calling plug-ins with care: whatever they do, each record has one fate.

It must not know what a plug-in is for: routes, partition values, converters and forks do.
"""
