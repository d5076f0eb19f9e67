"""What is made of released means and moments: spread, modes and error bars; post-processing, nothing private."""
