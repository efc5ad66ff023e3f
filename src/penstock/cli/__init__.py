"""The command line: arguments, printing, exit codes.

It must not hold logic that a library user would need.
"""
