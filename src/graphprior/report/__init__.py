"""One page that shows a result: works offline, opens from disk, asks nothing of the network."""
