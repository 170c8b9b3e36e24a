"""The table of measurements: checks, moments, gaps, series, transforms."""
