"""How far a lake is: snapshots for people and machines.

It reads only, and it must not need a JVM.
"""
