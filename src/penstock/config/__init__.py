"""From `penstock.yaml`, environment and flags to frozen specs; the rules of that file.

The only room that reads the environment. It must not open stores or connections.
"""
