"""The window loop: recover, plan, stage, prove, decide, publish, done.

It must not start Spark or talk to Kafka; a source is handed in.
"""
