"""Files, read with care and written whole."""
