"""Where new levels come from."""
