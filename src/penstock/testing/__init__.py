"""Public tools for tests: contract suites, fault stores, crash states, embedded servers.

It must not be needed by a running feed.
"""
