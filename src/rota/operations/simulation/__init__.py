"""Simulation: what the coming days will look like."""
