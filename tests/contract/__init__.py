"""One suite for each seam, run on everything that is built in."""
