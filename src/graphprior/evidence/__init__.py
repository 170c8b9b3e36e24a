"""What the data say of each pair, with the strengths of edges integrated out."""
