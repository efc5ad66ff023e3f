"""The command line: arguments, printing, exit codes.

Logic that a library user would need does not belong here.
"""
