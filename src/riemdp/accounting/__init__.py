"""Numbers behind guarantees: privacy curves, and what many entries come to. Knows neither guarantees nor data."""
