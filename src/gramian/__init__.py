"""gramian: feature learning with kernel machines and networks."""

__version__ = "0.1.0"
