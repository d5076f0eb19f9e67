"""Guarantees: what they promise, what follows from them, and what many come to. Knows neither data nor files."""
