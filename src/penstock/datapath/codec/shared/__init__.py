"""What several formats share: shapes, compiled loops, framing, limits.

It must not know one format more than another.
"""
