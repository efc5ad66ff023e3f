"""What several formats share: shapes, cursors, framing, limits.

It must not know one format more than another.
"""
