"""One file per summary: its value beside its sensitivity."""
