"""Tests with a real broker."""
