"""`python -m riemdp.cli`."""

from riemdp.cli import main

main()
