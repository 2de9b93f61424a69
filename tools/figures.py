"""The figures of README.md, from the tables of benchmarks: ``python -m tools.figures [--write]``.

Writes the picture ``docs/static/speed.svg`` and the stretch of README.md between two marks, so that neither can say
what the tables do not. A test compares both with the tables.
"""

from __future__ import annotations

import argparse
import html
import pathlib
import re

__all__ = ["MODELS", "PICTURE", "README", "Row", "cold", "main", "models", "page", "picture", "stretch"]

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "static" / "speed.svg"
BEGIN, END = "<!-- figures: python -m tools.figures --write -->", "<!-- end of figures -->"

MODELS = {
    "lenet": "LeNet", "resnet18": "ResNet-18", "resnet50": "ResNet-50", "mobilenetv2": "MobileNetV2", "unet": "U-Net",
    "dcgan": "DCGAN", "lstm": "LSTM", "bert": "BERT",
}  # fmt: skip
_SIDES = {"JAX with optax by hand": "#7a7a7a", "PyTorch, eager": "#c44e52", "MXNet 2.0, hybridized static": "#4c72b0"}
_FIRST = {"resnet18_v1": "ResNet-18", "resnet50_v1": "ResNet-50", "mobilenet_v2_0_5": "MobileNetV2 0.5",
          "transformer, 6 layers": "Transformer, 6 layers"}  # fmt: skip

Row = dict[str, float]


def models() -> dict[str, dict[str, Row]]:
    """Return the rows of RESULTS_MODELS.md by workload and side: gluonx's time and memory over the side's."""
    found: dict[str, dict[str, Row]] = {}
    for line in _rows("RESULTS_MODELS.md"):
        if len(line) != 14 or not line[0].endswith((", train", ", predict")) or line[1] == "roofline":
            continue
        row = {"ms": _first(line[2]), "mib": _first(line[4])}
        if not line[1].startswith("gluonx"):
            row |= {"ratio": _first(line[5]), "memory": _first(line[11])}
        found.setdefault(line[0].partition(",")[0], {})[line[1]] = row
    return found


def cold() -> dict[tuple[str, str], tuple[float, float]]:
    """Return the rows of RESULTS_COLD.md: processor seconds of gluonx and of MXNet by net and what was done."""
    return {(line[0], line[1]): (float(line[2]), float(line[3])) for line in _rows("RESULTS_COLD.md") if _is(line[2])}


def _rows(name: str) -> list[list[str]]:
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line[:1] == "|"]


def _first(text: str) -> float:
    return float(text.split()[0])


def _is(text: str) -> bool:
    return re.fullmatch(r"[\d.]+", text) is not None


# --------------------------------------------------------------------------------------------------------- the picture


def picture() -> str:
    """Return the picture: steps of whole models, and the first step of a process."""
    drawn = _Drawing()
    drawn.text(16, 28, "Time of a training step on a CPU, over gluonx's", size=15, weight="600")
    drawn.text(16, 46, "longer than the line: slower than gluonx", color="#555555")
    y = 64.0
    found = models()
    left, unit, most = 120.0, 150.0, 3.0
    drawn.line(left + unit, y - 4, y + len(MODELS) * 44 - 4)
    for workload, name in MODELS.items():
        drawn.text(left - 8, y + 22, name, anchor="end")
        for side, color in _SIDES.items():
            over = 1 / found[workload][side]["ratio"]
            drawn.bar(left, y, min(over, most) * unit, color, f"{over:.2f}{' (bar cut)' * (over > most)}")
            y += 12
        y += 8
    drawn.text(left + unit, y + 10, "gluonx", anchor="middle", color="#555555", size=11)
    y += 26
    x = left
    for side, color in _SIDES.items():
        drawn.key(x, y, color, side.partition(",")[0])
        x += 180
    y += 46
    drawn.text(16, y, "Processor seconds of a process until its first training step is done", size=15, weight="600")
    y += 14
    seconds = cold()
    longest = max(seconds[net, "first step"][0] for net in _FIRST)
    for net, name in _FIRST.items():
        ours, theirs = seconds[net, "first step"]
        drawn.text(left + 30, y + 16, name, anchor="end")
        for value, color in ((ours, "#dd8452"), (theirs, "#4c72b0")):
            drawn.bar(left + 38, y, max(1.0, value / longest * 360), color, f"{value:.2f} s")
            y += 12
        y += 8
    drawn.key(left, y, "#dd8452", "gluonx")
    drawn.key(left + 180, y, "#4c72b0", "MXNet 2.0")
    return drawn.svg(640, round(y + 20))


class _Drawing:
    """Shapes of an SVG."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, **style: object) -> None:
        size, anchor = style.get("size", 12), style.get("anchor", "start")
        color, weight = style.get("color", "#222222"), style.get("weight", "400")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{color}" '
            f'font-weight="{weight}"{style.get("halo", "")} paint-order="stroke">{html.escape(text)}</text>'
        )

    def bar(self, x: float, y: float, width: float, color: str, told: str) -> None:
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="11" fill="{color}"/>')
        self.text(
            round(x + width + 4, 1), y + 9.5, told, size=10, color="#555555", halo=' stroke="#ffffff" stroke-width="3"'
        )

    def key(self, x: float, y: float, color: str, text: str) -> None:
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="11" height="11" fill="{color}"/>')
        self.text(x + 16, y + 10, text)

    def line(self, x: float, top: float, bottom: float) -> None:
        self.parts.append(f'<path d="M{x:g} {top:g}V{bottom:g}" stroke="#222222" stroke-dasharray="3 3"/>')

    def svg(self, width: int, height: int) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, sans-serif" role="img">'
        )
        told = "<title>Times of training steps over gluonx's, and of the first step, from benchmarks/</title>"
        ground = f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>'
        return "\n".join([head, told, ground, *self.parts, "</svg>", ""])


# ------------------------------------------------------------------------------------------------------- the sentences


def stretch() -> str:
    """Return what README.md says in figures."""
    found = models()

    def spread(side: str, what: str = "ratio") -> tuple[str, str]:
        values = sorted((found[w][side][what], name) for w, name in MODELS.items())
        (low, least), (high, largest) = values[0], values[-1]
        return f"{low:.2f} ({least})", f"{high:.2f} ({largest})"

    rows = [
        "| a step of eight models, over that of | time, from | to | memory, from | to |",
        "| --- | --- | --- | --- | --- |",
    ]
    for side in _SIDES:
        rows.append(f"| {side.partition(',')[0]} | {' | '.join(spread(side))} | {' | '.join(spread(side, 'memory'))} |")
    tiny = found["mlp2"]["JAX with optax by hand"]["ratio"]
    ours, theirs = cold()["resnet50_v1", "first step"]
    larger = [found[w][side]["memory"] > 1 for w in MODELS for side in _SIDES]
    told = (
        f"Below 1, gluonx is faster or smaller. **Where it is not good:** memory, which is above 1 in {sum(larger)} of "
        f"these {len(larger)} comparisons; tiny steps ({tiny:.1f} times one by hand for two layers of 32); the start: "
        f"ResNet-50's first step takes {ours:.1f} processor seconds and MXNet's {theirs:.1f}, and from the thirteenth "
        "on the steps share the cores with the compiler."
    )
    rows += ["", told]
    return "\n".join(rows)


def page() -> str:
    """Return README.md with the figures of the tables."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"README.md lacks the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{stretch()}\n{END}{after}"


def main(argv: list[str] | None = None) -> int:
    """Write the figures, or tell whether they are old."""
    parser = argparse.ArgumentParser(prog="python -m tools.figures", description="The figures of README.md.")
    parser.add_argument("--write", action="store_true", help="write them; otherwise only tell whether they are old")
    write = parser.parse_args(argv).write
    old = 0
    for path, text in ((PICTURE, picture()), (README, page())):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            old = 1
            print(f"{path.relative_to(ROOT)} {'is written' if write else 'is old: python -m tools.figures --write'}")
            if write:
                path.write_text(text, encoding="utf-8")
    return 0 if write else old


if __name__ == "__main__":
    raise SystemExit(main())
