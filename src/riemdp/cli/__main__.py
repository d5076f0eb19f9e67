"""What `python -m riemdp.cli` runs."""

from riemdp.cli import main

main()
