"""Use cases. Every door calls these and nothing else."""
