"""Tests that start interpreters of their own or run whole tasks; the folders are those of rooms."""
