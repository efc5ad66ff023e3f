"""Sources: where records come from. What they share is here, and one folder per kind.

It must not plan windows or write files.
"""
