"""From the bytes of a record to Arrow columns, exactly: one folder per format.

It must not know routes, files or stores. Runs on executors; inference runs on the driver.
"""
