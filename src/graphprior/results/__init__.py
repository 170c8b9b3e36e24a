"""A result: its folder, its tables, its scores."""
