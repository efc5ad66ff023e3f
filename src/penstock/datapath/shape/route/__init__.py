"""Routes and partition values: which dataset and which directory a record belongs to.

It must not write anything.
"""
