"""MessagePack: records rewritten as the JSON with the same values.

It must not decode columns; JSON does that.
"""
