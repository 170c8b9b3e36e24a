"""Gaussian graphical models: matrices, constrained estimates, simulation."""
