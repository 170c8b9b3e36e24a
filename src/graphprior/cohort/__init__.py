"""Many tables, each with a graph of its own."""
