"""The database: one SQL text for SQLite and PostgreSQL, and the few places where they differ."""
