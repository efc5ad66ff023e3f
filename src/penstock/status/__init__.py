"""How far a lake is: snapshots for people and machines. Reads only, and needs no JVM."""
