"""An HTTP double of Google Cloud Storage: what a lake needs of its JSON API, as documented.

It checks preconditions under one lock per name. It must not know a store or a lake.
"""
