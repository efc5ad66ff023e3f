"""Audit: what the journal says was delivered, compared with what lies in the lake.

It reads only, and it must not repair anything.
"""
