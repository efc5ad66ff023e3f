"""Commands that look after a lake, also beside a live owner: seek, replay, compact, clean."""
