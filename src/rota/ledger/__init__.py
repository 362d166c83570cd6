"""The ledger: what one transaction does to jobs and runs. Engine and operations both write through it."""
