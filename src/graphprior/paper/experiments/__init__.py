"""Every figure of the paper as a declaration, and the machinery that runs it."""
