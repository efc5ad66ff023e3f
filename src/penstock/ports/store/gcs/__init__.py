"""Lakes on Google Cloud Storage: writes conditional on generations, files published by a rewrite.

It must not know feeds or journals, and sends nothing that a repetition could do twice.
"""
