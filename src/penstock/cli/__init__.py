"""The command line: commands, printing, exit codes."""
