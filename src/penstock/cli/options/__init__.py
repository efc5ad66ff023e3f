"""The words of each command: names, options and help, for the parser of arguments.

What a command does is in `cli/commands`; nothing here may import it, nor anything heavy.
"""
