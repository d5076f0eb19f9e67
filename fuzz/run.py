"""Coverage-guided fuzzing of every parser and entry point, with atheris (libFuzzer).

`python fuzz/run.py` gives each target a million cases or ten minutes, whichever comes first; `--time S` gives S seconds
to all of them together. Prints a table; a case that breaks the rule is kept in build/fuzz/, and the exit code is 1.
docs/decisions/0013-fuzzing.md says why, and what to do with what is found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent
BUILD = FOLDER.parent / "build" / "fuzz"
CORPUS = FOLDER.parent / "tests" / "fuzz_corpus"
CASES, SECONDS = 10**6, 600
SLOWEST = 120  # seconds that one case may take on a busy machine
MEMORY = 4096  # MB that the process may take


def main() -> int:
    """All targets, or those that are named, each in a process of its own: a crash stops only that one."""
    arguments = _parser().parse_args()
    if arguments.one:
        _fuzz(arguments.one, arguments.cases, arguments.time)
    names = arguments.targets or _names()
    seconds = arguments.time * arguments.workers / len(names) if arguments.time else SECONDS
    with ThreadPoolExecutor(arguments.workers) as pool:
        outcomes = list(pool.map(lambda name: _run(name, arguments.cases, seconds), names))
    for outcome in outcomes:
        print("{name:14}{cases:>10,} cases in {seconds:4.0f} s  {verdict}".format(**outcome))
    BUILD.joinpath("outcomes.json").write_text(json.dumps(outcomes, indent=1))
    return int(any(outcome["verdict"] != "ok" for outcome in outcomes))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="by default all")
    parser.add_argument("--time", type=float, help=f"seconds in all; by default {SECONDS} for each target")
    parser.add_argument("--cases", type=int, default=CASES, help="most cases for each target")
    parser.add_argument("--workers", type=int, default=1, help="targets at a time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser


def _names() -> list[str]:
    sys.path.insert(0, str(FOLDER))
    from targets import TARGETS

    return list(TARGETS)


def _run(name: str, cases: int, seconds: float) -> dict[str, object]:
    """One target in its own process; libFuzzer's own last line tells how many cases there were."""
    place = BUILD / name
    place.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--one", name, "--cases", str(cases), "--time", str(seconds)]
    started = time.monotonic()
    with (place / "log.txt").open("wb") as log:
        code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    text = (place / "log.txt").read_text(errors="replace")
    counts = [int(line.split()[0][1:]) for line in text.splitlines() if line.startswith("#") and line[1:2].isdigit()]
    verdict = "ok" if code == 0 else f"FAILED: {place / 'log.txt'}"
    return {"name": name, "cases": max(counts, default=0), "seconds": time.monotonic() - started, "verdict": verdict}


def _fuzz(name: str, cases: int, seconds: float) -> None:
    """Does not return: libFuzzer ends the process."""
    import atheris

    sys.path.insert(0, str(FOLDER))
    # Modules are instrumented as they are imported, so which ones is decided before targets.py imports them.
    guides = {"npy": ["numpy.lib"], "npz": ["numpy.lib", "zipfile"], "zarr": ["zarr"], "pictures": ["PIL"]}
    with atheris.instrument_imports(include=["riemdp", *guides.get(name, [])]):
        from targets import TARGETS

        target = TARGETS[name]
        seeds = target.prepare()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return target.mutate(data, random.Random(seed))[:most]

    place = BUILD / name
    corpus = place / "corpus"
    corpus.mkdir(exist_ok=True)
    for seed in seeds:
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    options = [f"-runs={cases}", f"-max_total_time={max(1, round(seconds))}", f"-timeout={SLOWEST}", "-max_len=65536"]
    options += [f"-rss_limit_mb={MEMORY}", f"-artifact_prefix={place}/", "-print_final_stats=1"]
    known = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
    atheris.Setup([sys.argv[0], *options, str(corpus), *known], target.check, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
