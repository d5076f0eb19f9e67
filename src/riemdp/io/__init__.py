"""Records on their way in, and files: what is read, in which blocks, and what is written whole or not at all."""
