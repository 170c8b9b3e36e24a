"""Priors over graphs: exact ones, and one learned from examples."""
