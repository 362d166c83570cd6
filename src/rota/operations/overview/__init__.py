"""The overview: whether anything is wrong now, and how much is under way, waits and comes."""
