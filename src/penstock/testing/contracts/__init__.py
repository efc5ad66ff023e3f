"""Contract suites, one per door: test classes to inherit from.

It must not know one implementation more than another.
"""
