"""The engine: loops that fire, claim, work, record, beat and reconcile. Each has a step that can be cranked by hand."""
