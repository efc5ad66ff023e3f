"""Reads `penstock.yaml`, environment and flags into frozen specs, and checks them.

The only room that reads the environment. It must not open stores or connections.
"""
