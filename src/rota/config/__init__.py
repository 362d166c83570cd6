"""The fleet file: read with all problems at once, and a job spelt back into its words."""
