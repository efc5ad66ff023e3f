"""The store on a local disk, durable through a power cut.

It must not know other stores.
"""
