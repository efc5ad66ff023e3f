"""Running feeds: who runs next, one feed as it runs, beats, and what is reported meanwhile.

It must not decide what is delivered; the window loop does that.
"""
