"""Spark and the JVM: session, gateway, Java, pinned jars, a parallel map.

It must not know feeds, journals or records.
"""
