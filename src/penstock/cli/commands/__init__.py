"""One module per command of `penstock`.

Code that another command or the library needs does not belong here.
"""
