"""Graphs as adjacency matrices, and conversion from and to other libraries."""
