"""From the bytes of a record to Arrow columns, exactly, and for some formats back: a folder each.

It must not know routes, files or stores. Runs on executors; inference runs on the driver.
"""
