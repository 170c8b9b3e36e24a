"""Graphs of many kinds, to train a prior that serves those who have no example graphs."""
