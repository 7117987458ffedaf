"""Ray: the same work on many machines. Nothing here imports Ray until a cluster is asked for."""
