"""Stores: where the lake lies. What all stores share is here, and one folder per kind of store.

It must not know feeds or journals.
"""
