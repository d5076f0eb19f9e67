"""`python -m riemdp` is the command line `riemdp`, also where scripts are not on the path."""

from riemdp.cli import main

if __name__ == "__main__":
    main()
