"""The version, without the cost of asking the installed package for its metadata."""

__version__ = "0.1.0"
