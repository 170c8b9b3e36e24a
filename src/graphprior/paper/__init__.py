"""What only the figures of the paper need: graph families, baselines, experiments."""
