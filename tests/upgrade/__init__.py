"""Older versions: their lakes, their entries, and running beside them."""
