"""Gaussian graphical models: linear algebra, precision matrix estimates, simulation."""
