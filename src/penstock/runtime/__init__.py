"""What a process takes from its machine: clock, sleep, randomness, threads, its own identity.

It must not know stores, journals or records.
"""
