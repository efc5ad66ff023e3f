"""Lakes on HDFS: files that are whole before they get their name, and renames that never overwrite.

It must not know feeds or journals, and renames nothing that was not closed with success.
"""
