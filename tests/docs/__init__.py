"""The documentation is executed."""
