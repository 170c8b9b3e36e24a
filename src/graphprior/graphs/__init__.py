"""Graphs as matrices, and as objects of other libraries."""
