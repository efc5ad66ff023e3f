"""Stores: where the lake lies. One small protocol, one module per kind of store."""
