"""An HTTP proxy in front of an object store that fails by script, counts, and enforces a policy.

It forwards the bytes of requests as they came, so signatures stay valid; it must not know a store.
"""
