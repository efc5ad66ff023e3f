"""What a crash leaves behind, and what is made of it."""
