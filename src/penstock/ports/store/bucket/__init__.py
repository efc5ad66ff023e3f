"""What the stores in buckets have in common: how S3 and GCS are asked, looked at and believed.

What a request says, and how a file gets visible, is each store's own. It must not know a client
library, nor feeds or journals.
"""
