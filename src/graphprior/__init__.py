"""Find the graph behind Gaussian data."""
