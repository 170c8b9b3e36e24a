"""What can be said about a result: reasons, doubts, checks."""
