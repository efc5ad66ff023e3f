"""One module per command of `penstock`.

It must not hold what another command or the library needs.
"""
