"""Doing the work: child processes, requests, callables."""
