"""The examples of current models: each is short, learns at a small size, and makes a step in one program."""

import jax
import numpy as onp
import pytest

import gluonx as mx
from examples import diffusion, gpt, graph, masked_packed, vit_lora
from gluonx import engine, parallel
from gluonx.model_zoo.transformers import BERT
from lib import ROOT

NAMES = ["gpt", "vit_lora", "diffusion", "masked_packed", "graph"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_can_be_read_at_once(name):
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 150


def steady(run, short, long):
    """Return how many programs each of the last steps was, from a short run and a longer one of new nets."""
    counts = []
    for steps in (short, long):
        before = engine.stats()
        run(steps)
        after = engine.stats()
        counts.append(after["dispatches"] - before["dispatches"])
    return (counts[1] - counts[0]) / (long - short)


@pytest.mark.dear
def test_gpt_learns_and_writes(capsys):
    arguments = ["--units=32", "--layers=1", "--steps=60", "--batch=8", "--length=32", "--rate=0.01", "--bound=3.2"]
    assert gpt.main(arguments) == 0
    said = capsys.readouterr().out
    assert len(said.split("The expression ", 1)[1]) == 17 + 1


@pytest.mark.dear
def test_a_step_of_gpt_is_one_program():
    text = gpt.Letters(gpt.read_text(2000))

    def run(steps):
        gpt.train(gpt.make(len(text.letters), 16, 1, 4), text.numbers, steps, 4, 8, 0.01)

    assert steady(run, 5, 15) == 1


@pytest.mark.dear
def test_gpt_computes_the_same_on_four_devices():
    text = gpt.Letters((gpt.read_text(2000) + "|}~")[:2003])
    letters = len(text.letters) + len(text.letters) % 2

    def run():
        mx.random.seed(0)
        net = gpt.make(letters, 16, 1, 4)
        return net, gpt.train(net, text.numbers, 6, 4, 8, 0.01)

    _, alone = run()
    with parallel.use(parallel.mesh(data=2, model=2, devices=jax.devices()[:4])):
        net, trail = run()
        weights = {name: param.data() for name, param in net.collect_params(fused=False).items()}
    onp.testing.assert_allclose(trail, alone, rtol=1e-4)
    split = {name: w for name, w in weights.items() if not name.endswith("gamma")}
    for name, weight in split.items():  # half of each matrix lies on a device
        assert weight._read().addressable_shards[0].data.size == weight.size // 2, name
    assert len(split) == 9


@pytest.mark.dear
def test_vit_is_adapted_by_lora(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.setitem(vit_lora.CONFIG, "num_hidden_layers", 1)
    monkeypatch.setitem(vit_lora.CONFIG, "hidden_size", 16)
    monkeypatch.setitem(vit_lora.CONFIG, "intermediate_size", 32)
    assert vit_lora.main(["--epochs=4", "--limit=640", "--bound=0.25"]) == 0
    said = capsys.readouterr().out
    whole, small = (int(word.strip(",")) for word in said.split() if word.strip(",").isdigit())
    assert small < whole


@pytest.mark.dear
def test_a_step_of_diffusion_with_its_averages_is_one_program():
    images, labels = onp.zeros((4, 1, 8, 8), "float32"), onp.arange(4)

    def run(steps):
        diffusion.train(diffusion.UNet(4), (images, labels), steps, batch=4)

    assert steady(run, 3, 8) <= 4  # the step, and what makes its noise before it


@pytest.mark.slow
def test_diffusion_learns_and_draws(tmp_path):
    pytest.importorskip("sklearn")
    from PIL import Image

    picture = tmp_path / "digits.png"
    assert diffusion.main(["--steps=60", "--channels=8", "--bound=0.6", f"--picture={picture}"]) == 0
    with Image.open(picture) as image:
        assert image.size == (10 * 48, 2 * 48) and onp.asarray(image).std() > 10


@pytest.mark.dear
def test_a_masked_model_learns_from_packed_rows(capsys):
    arguments = ["--limit=300", "--units=32", "--layers=1", "--length=32", "--epochs=3", "--vocabulary=200"]
    assert masked_packed.main([*arguments, "--rate=0.01", "--bound=4.9"]) == 0
    assert "packed" in capsys.readouterr().out
    texts, words = masked_packed.read_paragraphs(100, 120)
    packed = mx.gluon.data.pack(texts, 16, split=True)

    def run(epochs):
        net = BERT(words, 1, 8, 16, 2, 16, 1, head="words")
        masked_packed.train(net, packed, epochs, 8, 0.01)

    steps = len(packed.tokens) // 8
    assert steady(run, 1, 3) == steps


@pytest.mark.dear
def test_a_graph_network_finds_the_groups():
    assert graph.main(["--nodes=1000", "--steps=60", "--bound=0.6"]) == 0

    def run(steps):
        graph.train(graph.GraphNet(8, 4, 8), graph.draw(50), steps)

    assert steady(run, 5, 15) == 1
