"""Ways to reach a target: one small file each, all with the same two verbs."""
