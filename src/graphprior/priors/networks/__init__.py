"""Networks that learn a family of graphs."""
