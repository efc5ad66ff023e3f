"""Stores and disks that fail on request, the contract every store keeps, and crash states."""
