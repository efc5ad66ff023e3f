"""The simulator: the real protocol, under a scheduler that loses, delays and kills."""
