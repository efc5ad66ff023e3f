"""Publishing: the steps that make a decided entry visible, and the proof that they are done.

It must not decide what is delivered; it acts on entries that are decided.
"""
