"""Charts as SVG and for terminals.

It must not read a lake; it draws the numbers it is given.
"""
