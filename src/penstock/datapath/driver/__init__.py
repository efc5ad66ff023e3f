"""The driver's side of the data path: plans the tasks of a window, and puts together what they did.

It must not run tasks itself, nor decide whether a window is delivered.
"""
