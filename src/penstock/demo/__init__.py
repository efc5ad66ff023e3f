"""`penstock demo`: a broker, a topic, a lake, a kill -9 in the middle, and an independent count.

The count must not share code with the pipeline.
"""
