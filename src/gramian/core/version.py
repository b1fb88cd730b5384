"""The version, where every room can read it; the build reads it here too."""

__version__ = "0.1.0"
