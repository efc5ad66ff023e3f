"""Frozen values that every room shares. Imports nothing of Penstock but itself."""
