"""`penstock demo`: a broker, a topic, a lake, a kill -9 on the way, and a count by a stranger."""
