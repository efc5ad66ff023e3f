"""From the bytes of a record to Arrow columns, exactly. Runs on executors; inference on the driver.

`JsonCodec` in `json_codec` is the door to this room.
"""
