"""The examples examples/vae.py and examples/flow.py learn, in one program a step."""

import numpy as onp
import pytest

from examples import flow, vae
from gluonx import engine, np


@pytest.mark.dear
def test_vae(capsys):
    (images, _), (held, _) = vae.load_data()
    images, held = images.reshape((-1, 64)), held.reshape((-1, 64))
    net = vae.VAE()
    engine.reset_stats()
    trail = vae.train(net, images[:640], 12)
    assert engine.stats()["programs_compiled"] == 1
    loss, divergence = vae.evaluate(net, held)
    assert trail[-1] < 29 < 35 < trail[0] and loss < 29.5 and divergence > 0.5
    assert len(vae.picture(net, (0.0, 0.0)).splitlines()) == 8


@pytest.mark.dear
def test_flow():
    points = flow.moons(2000)
    net = flow.Flow(layers=4, hidden=16)
    trail = flow.train(net, points, 250)
    assert onp.mean(trail[-20:]) < 1.75 < 2.0 < onp.mean(trail[:5])  # 1.9 is what a normal distribution reaches
    made = net.distribution
    drawn = made.sample_n(300)
    assert drawn.shape == (300, 2) and onp.isfinite(made.log_prob(drawn).asnumpy()).all()
    # The density is one: its integral over a square that holds nearly all of it.
    grid = onp.stack(onp.meshgrid(onp.linspace(-4, 4, 161), onp.linspace(-4, 4, 161)), -1).reshape((-1, 2))
    total = np.exp(made.log_prob(np.array(grid))).sum() * 0.05**2
    assert abs(total.item() - 1) < 0.03
