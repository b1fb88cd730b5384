"""Paper A: importing this package enters its experiments in the registry."""
