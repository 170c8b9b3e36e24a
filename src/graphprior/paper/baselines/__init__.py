"""Every method that a figure compares, one file each; `registry.methods` finds them."""
