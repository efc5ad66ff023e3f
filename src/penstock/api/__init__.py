"""The doors for plug-ins: what a store, a source, a codec, a file format and so on must be.

Protocols and the search by name, nothing else: it must not import what is behind a door.
"""
