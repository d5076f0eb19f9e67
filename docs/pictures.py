"""Makes the pictures of the documentation, and the notebooks of the gallery: python docs/pictures.py [name ...].

They are made by running what they show. Noise is drawn anew each time, so no two runs give the same bytes; run it when
an example or the look of a picture has changed, and commit what it wrote.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from guide_pictures import GUIDES
from matplotlib.figure import Figure
from percent import PICTURES, Example, examples
from PIL import Image

DOCS = Path(__file__).resolve().parent
MOST = 150_000  # bytes of a picture
DPI, COLOURS = 130, 96


def save(figure: Figure, path: Path) -> None:
    """As a small file: few colours are enough for lines on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size <= MOST, f"{path} has {path.stat().st_size} bytes: draw less"


def run(example: Example) -> Figure:
    """The picture that an example makes."""
    code = "\n".join(cell.content for cell in example.cells if not cell.is_text)
    namespace: dict[str, Figure] = {"__name__": example.name}  # type: ignore[dict-item]
    exec(compile(code, example.name, "exec"), namespace)
    return namespace["figure"]


def make_example(example: Example) -> None:
    """Picture and notebook."""
    save(run(example), PICTURES / f"{example.name}.png")
    (DOCS / "gallery" / f"{example.name}.ipynb").write_text(example.notebook(), encoding="utf-8")


def demo() -> Figure:
    """The picture of `riemdp demo`."""
    from riemdp import demo as shown

    digits = shown.load_digits()
    return shown.draw(digits, shown.Study.of(digits), shown.exact_means(digits))


def speed() -> Figure:
    """The table of docs/speed.md as bars: how many times longer the faster of the others takes."""
    rows = re.findall(r"^\| ([^|]+?) +\|.*?\| +([\d.]+)x \|$", (DOCS / "speed.md").read_text(), re.MULTILINE)
    names, ratios = [name for name, _ in rows][::-1], np.array([float(ratio) for _, ratio in rows])[::-1]
    figure = Figure(figsize=(8, 4.2), layout="constrained", facecolor="white")
    ax = figure.subplots()
    bars = ax.barh(names, ratios, color="#0072B2", height=0.7)
    ax.bar_label(bars, [f"{ratio:.3g} x" for ratio in ratios], padding=3, fontsize=9)
    ax.set(xlim=(0, 1.1 * ratios.max()), xticks=[])
    figure.suptitle("The same mean by the faster of pyRiemann and geomstats takes so many times as long", fontsize=10)
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
    ax.tick_params(length=0, labelsize=9)
    return figure


def makers() -> dict[str, Callable[[], None]]:
    """Everything that can be made, by name."""
    single = {"demo": demo, "speed": speed} | {f"guides/{name}": draw for name, draw in GUIDES.items()}
    made = {name: (lambda n=name, f=draw: save(f(), DOCS / "assets" / f"{n}.png")) for name, draw in single.items()}
    return made | {f"gallery/{example.name}": (lambda e=example: make_example(e)) for example in examples()}


if __name__ == "__main__":
    known = makers()
    for asked in sys.argv[1:] or known:
        print(asked)
        known[asked]()
