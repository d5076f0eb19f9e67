"""The command line: parse, call, print.

Exit codes: 0 done, 1 an audit contradicts the claim, 2 bad usage or input (one line on stderr, nothing written, no
budget spent), 3 budget refused. Whoever closes the pipe early gets 141, and whoever interrupts 130, as from a shell.
"""

from riemdp.cli.app import app, main
from riemdp.cli.auditing import audit, demo
from riemdp.cli.bookkeeping import ledger
from riemdp.cli.classifying import classify
from riemdp.cli.descending import median, regress
from riemdp.cli.describing import descriptors
from riemdp.cli.planning import check, plan
from riemdp.cli.releasing import mean
from riemdp.cli.summarising import compare, summary

for command in (mean, median, regress, summary, compare, plan, check, descriptors, audit, demo):
    app.command()(command)
app.add_typer(ledger, name="ledger")
app.add_typer(classify, name="classify")

__all__ = ["app", "main"]
