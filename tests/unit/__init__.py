"""Small tests without a JVM, a network or a wait."""
