"""The executor's one pass: batches from Kafka in, staged files and their proof out."""
