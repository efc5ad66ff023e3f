"""Charts as SVG and for terminals.

It draws the numbers it is given, and must not read a lake.
"""
