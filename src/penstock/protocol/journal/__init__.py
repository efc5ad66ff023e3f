"""The journal: numbered entries, the append that decides, and all that proves them whole.

What the entries mean is handed in as a book. It must not know feeds, topics or files, nor publish.
"""
