"""Handwritten digits by the estimator: early stopping, the best model kept, and a training that can be interrupted.

``python -m examples.fit_digits --folder runs/digits`` (needs the extra ``examples``: scikit-learn carries the images).
End it by Ctrl-C and start it again: it goes on where its last checkpoint was, and ends with the bits it would have had.
"""

from __future__ import annotations

import argparse
from typing import Any

import gluonx as mx
from examples.digits import BATCH, LEARNING_RATE, Digits, load_data
from gluonx import estimator, gluon

__all__ = ["fit", "main"]


def fit(folder: str, epochs: int = 20, limit: int | None = None, resume: bool = True, bar: bool = False) -> Any:
    """Train with checkpoints in `folder`, from the last one there if there is one.

    Parameters
    ----------
    folder : str
    epochs : int
        The most epochs, those before an interruption included.
    limit : int, optional
        How many images to use; all by default.
    resume : bool
        Whether to go on from a checkpoint.
    bar : bool
        Whether to show a bar of tqdm in place of a log.

    Returns
    -------
    gluonx.estimator.Estimator
    """
    mx.random.seed(0)
    (x, y), (held_x, held_y) = load_data()
    train = gluon.data.DataLoader(gluon.data.ArrayDataset(x[:limit], y[:limit]), BATCH, shuffle=True)
    held = gluon.data.DataLoader(gluon.data.ArrayDataset(held_x, held_y), 2 * BATCH)
    net = Digits()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE})
    fitter = estimator.Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    accuracy = fitter.val_metrics[0]
    handlers: list[Any] = [
        estimator.CheckpointHandler(folder, monitor=accuracy, save_best=True, resume_from_checkpoint=resume),
        estimator.EarlyStoppingHandler(accuracy, patience=5),
    ]
    if bar:
        fitter.logger.setLevel("WARNING")
        handlers.append(estimator.ProgressHandler())
    fitter.fit(train, held, epochs=epochs, event_handlers=handlers)
    return fitter


def main() -> None:
    """Run the example from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="runs/digits")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--bar", action="store_true", help="show a bar in place of a log")
    options = parser.parse_args()
    fitter = fit(options.folder, options.epochs, bar=options.bar)
    print(f"accuracy on digits that it has not seen: {fitter.val_metrics[0].get()[1]:.3f}")


if __name__ == "__main__":
    main()
