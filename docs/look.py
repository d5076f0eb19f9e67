"""Looks at the built site in Chromium, as `make docs` ends: python docs/look.py site.

At the width of a desktop and of a phone: no page, and no code on it, scrolls sideways, every picture is loaded, and the
console is silent. Without Chromium nothing is looked at, and that is said.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (1280, 400)
PAGES = ("*.html", "gallery/*.html", "guides/*.html", "reference/*.html")  # all but proofs and decisions
AT_ONCE = 20  # pages
# Pictures are asked for before they come into view; what has a role or is hidden is the theme's.
FRAMES = """<!DOCTYPE html><html><body>FRAMES<script>
const wide = e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0;
const look = () => document.body.textContent = JSON.stringify(Array.from(frames).map(w => ({
  width: w.innerWidth, needed: w.document.documentElement.scrollWidth,
  code: [...w.document.querySelectorAll("pre, pre > code")].filter(wide).map(e => e.textContent.slice(0, 60)),
  images: [...w.document.images].filter(i => !(i.complete && i.naturalWidth > 0)).map(i => i.getAttribute("src")),
})));
addEventListener("load", () => setTimeout(look, 1000));
</script></body></html>"""


def browser() -> str | None:
    """A Chromium, if there is one."""
    return next((found for found in map(shutil.which, BROWSERS) if found), None)


def rendered(program: str, urls: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """What each page looks like at each width, and what the console says."""
    frames = [f'<iframe src="{url}" width="{width}" height="900"></iframe>' for url in urls for width in WIDTHS]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "frames.html"
        page.write_text(FRAMES.replace("FRAMES", "".join(frames)), encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"]
        flags += ["--allow-file-access-from-files", f"--user-data-dir={folder}/profile", "--window-size=1400,1000"]
        command = [program, *flags, "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    text = unescape(re.sub(r"<[^>]*>", "", done.stdout))
    return json.loads(text), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def faults(program: str, pages: list[Path]) -> list[str]:
    """What is wrong with the pages, in words."""
    found, console, wrong = [], [], []
    for start in range(0, len(pages), AT_ONCE):
        looks, lines = rendered(program, [page.resolve().as_uri() for page in pages[start : start + AT_ONCE]])
        found, console = found + looks, console + lines
    for (page, width), look in zip(((page, width) for page in pages for width in WIDTHS), found, strict=True):
        place = f"{page.name} of {page.parent.name} at {width} px"
        if look["needed"] > look["width"]:
            wrong.append(f"{place} scrolls sideways: {look['needed']} px")
        wrong += [f"{place}: code scrolls sideways: {code!r}" for code in look["code"]]
        wrong += [f"{place}: the picture {image} is missing" for image in look["images"]]
    return wrong + [f"console: {line}" for line in console]


def main(site: str) -> int:
    """Print what is wrong; the exit code."""
    program = browser()
    if program is None:
        print("no Chromium: the site was built, but not looked at")
        return 0
    pages = sorted(page for pattern in PAGES for page in Path(site).glob(pattern) if page.name != "404.html")
    wrong = faults(program, pages) if pages else [f"{site} has no pages: build it first"]
    print("\n".join(wrong) or f"{len(pages)} pages looked at, at {' and '.join(map(str, WIDTHS))} px")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
