"""Something small behind every door of Penstock."""
