"""Train the digits net, export it to ONNX and make a folder that any web server can show.

``npm install onnxruntime-web@1.30`` fetches what runs it; then ``python -m examples.web_digits site node_modules`` and
``python -m http.server --directory site``.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
from typing import Any

from examples import digits
from gluonx.export import InputSpec

__all__ = ["build", "main"]

HERE = pathlib.Path(__file__).parent
RUNTIME = ("ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")


def build(net: Any, site: pathlib.Path, modules: pathlib.Path) -> None:
    """Write the page, the net and the runtime into a folder.

    Parameters
    ----------
    net : Digits
        Trained.
    site, modules : pathlib.Path
        The folder to write, and npm's ``node_modules``.
    """
    site.mkdir(parents=True, exist_ok=True)
    net.export(site / "model", format="onnx", inputs=[InputSpec("data", ("b", 1, 8, 8), "float32")])
    shutil.copy(HERE / "index.html", site)
    for name in RUNTIME:
        shutil.copy(modules / "onnxruntime-web" / "dist" / name, site)


def main(argv: list[str] | None = None) -> None:
    """Train and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("modules", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=12)
    args = parser.parse_args(argv)
    training, held = digits.load_data()
    net = digits.Digits()
    digits.train(net, training, args.epochs)
    print(f"accuracy on the held-out digits: {digits.evaluate(net, held)[0]:.4f}")
    build(net, args.site, args.modules)


if __name__ == "__main__":
    main()
