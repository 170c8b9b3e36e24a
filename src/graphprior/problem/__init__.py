"""The problem to solve."""
