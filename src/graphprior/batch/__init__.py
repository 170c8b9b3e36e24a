"""Many units of work: on one core, several, or a cluster; a run that is killed goes on."""
