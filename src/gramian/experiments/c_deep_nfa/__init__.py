"""Paper C: importing this package enters its experiments in the registry."""
