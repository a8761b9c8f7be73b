"""Contextual classic control: levels are vectors of physical parameters that nobody observes."""
