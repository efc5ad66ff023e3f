"""Audit: what the journal says was delivered, held against what lies in the lake. Reads only."""
