"""Lakes on S3, and on stores that speak its API: conditional writes, and uploads left open.

It must not know feeds or journals, and sends nothing that a repetition could do twice.
"""
