"""Engines: from a problem, a prior and a likelihood to a Posterior."""
