"""What a level is, and where levels come from."""
