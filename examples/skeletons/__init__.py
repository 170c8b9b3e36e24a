"""Skeletons to copy: a prior, an engine and a baseline that pass the conformance tests."""
