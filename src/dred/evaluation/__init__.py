"""How well an agent does in levels, seen and unseen."""
