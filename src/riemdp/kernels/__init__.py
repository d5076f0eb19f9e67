"""Batched numeric loops: arrays in, arrays out; no privacy, no objects."""
