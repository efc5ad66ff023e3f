"""Packages with plug-ins, as others would write them; tests build and install them."""
