"""One file for each figure: its ``EXPERIMENT``. A new figure is one new file."""
