"""Nets of the kinds that transformers has, with its files: tests/oracle/transformers made them and their outputs."""

import json
import pathlib

import ml_dtypes
import numpy
import pytest

import gluonx
from gluonx import files, nn, np, weights
from gluonx.errors import ArgumentError, FormatError
from gluonx.model_zoo import transformers

HERE = pathlib.Path(__file__).parents[1] / "oracle" / "transformers"
GOLDEN = dict(numpy.load(HERE / "outputs.npz"))
INPUTS = ("pixel_values", "input_ids", "token_type_ids", "attention_mask")
NETS = [name for name in GOLDEN if "/" not in name]


@pytest.mark.parametrize("name", NETS)
def test_a_folder_of_the_hub_computes_what_transformers_does(name, tmp_path):
    net = weights.from_pretrained(HERE / name)
    image, tokens, types, seen = (GOLDEN[f"inputs/{key}"] for key in INPUTS)
    arguments = {"vit": (image,), "bert": (tokens, types, seen.sum(1))}.get(name.split("_")[0], (tokens,))
    out = net(*(np.array(x, dtype=x.dtype) for x in arguments))
    if name == "bert":
        out, pooled = out
        numpy.testing.assert_allclose(pooled.asnumpy(), GOLDEN["bert/pooled"], rtol=1e-5, atol=1e-5)
    out, expected = out.asnumpy(), GOLDEN[name]
    if name.startswith("bert"):  # transformers computes something for padding, too
        out, expected = out[1, :4], expected[1, :4]
    numpy.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)

    theirs = files.load_arrays(HERE / name / "model.safetensors")
    report = weights.match(net, theirs, weights.transformers(net))
    assert report.complete
    weights.save(net, tmp_path / "model.safetensors", report)
    weights.save(net, tmp_path / "again.safetensors", transformers.saved_names(net))
    for file in ("model", "again"):
        back = files.load_arrays(tmp_path / f"{file}.safetensors")
        assert back.keys() == theirs.keys()
        for key, value in theirs.items():
            numpy.testing.assert_array_equal(back[key], value)


def a_folder(tmp_path, name, **changes):
    config = json.loads((HERE / name / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **changes}))
    files.save_arrays(tmp_path / "model.safetensors", files.load_arrays(HERE / name / "model.safetensors"))
    return tmp_path


REFUSED = {
    "a kind": ("bert", {"model_type": "t5"}, "not for 't5'"),
    "a head": (
        "bert",
        {"architectures": ["BertForTokenClassification"]},
        "there are nets for BertModel, BertForMaskedLM",
    ),
    "no head": ("bert", {"architectures": None}, "architectures are None"),
    "positions": ("bert", {"position_embedding_type": "relative_key"}, "what gluonx computes is that of 'absolute'"),
    "an activation": ("vit", {"hidden_act": "leaky_relu"}, "'leaky_relu' of transformers is not known"),
    "a window": ("llama", {"sliding_window": 4}, "sliding_window=4"),
    "a rotation": ("llama", {"rope_parameters": {"rope_type": "llama3"}}, "rope_type='llama3'"),
    "a width of heads": ("llama", {"head_dim": 16}, "head_dim=16"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_configuration_that_computes_something_else_is_refused(case, tmp_path):
    name, changes, said = REFUSED[case]
    with pytest.raises((ArgumentError, ValueError), match=said):
        weights.from_pretrained(a_folder(tmp_path, name, **changes))


def test_a_file_with_more_or_less_than_the_net_is_refused(tmp_path):
    folder = a_folder(tmp_path, "gpt2")
    arrays = files.load_arrays(folder / "model.safetensors")
    buffers = {"transformer.h.0.attn.bias": numpy.ones((1, 1, 24, 24), "float32")}
    files.save_arrays(folder / "model.safetensors", {**arrays, **buffers})
    assert isinstance(weights.from_pretrained(folder), transformers.GPT2)
    files.save_arrays(folder / "model.safetensors", {**arrays, "transformer.h.0.gate.weight": numpy.ones(2, "float32")})
    with pytest.raises(FormatError, match=r"holds 'transformer.h.0.gate.weight'"):
        weights.from_pretrained(folder)
    arrays.pop("transformer.wpe.weight")
    files.save_arrays(folder / "model.safetensors", arrays)
    with pytest.raises(FormatError, match=r"lacks 'places.weight'"):
        weights.from_pretrained(folder)
    (folder / "config.json").write_text("[")
    with pytest.raises(FormatError, match="cannot be read"):
        weights.from_pretrained(folder)
    with pytest.raises(ArgumentError, match="for BERT, GPT2, ViT, CausalDecoder, not for Dense"):
        weights.transformers(nn.Dense(2))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_weights_in_half_precision_become_float32_unless_they_are_to_stay(kind, tmp_path):
    folder = a_folder(tmp_path, "llama")
    arrays = files.load_arrays(folder / "model.safetensors")
    half = {name: array.astype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind) for name, array in arrays.items()}
    files.save_arrays(folder / "model.safetensors", half)
    net = weights.from_pretrained(folder)
    assert {str(param.dtype) for param in net.collect_params().values()} == {"float32"}
    numpy.testing.assert_array_equal(net.head.weight.data().asnumpy(), half["lm_head.weight"].astype("float32"))
    net = weights.from_pretrained(folder, dtype_source="saved")
    assert str(net.head.weight.dtype) == kind
    out = net(np.array(GOLDEN["inputs/input_ids"], dtype="int32"))
    assert str(out.dtype) == kind
    numpy.testing.assert_allclose(out.astype("float32").asnumpy(), GOLDEN["llama"], atol=0.1)


@pytest.mark.dear
def test_a_text_longer_than_its_positions_is_refused():
    net = weights.from_pretrained(HERE / "gpt2")
    with pytest.raises(ArgumentError, match="has 24 positions"):
        net(np.ones((1, 25), dtype="int32"))
    with pytest.raises(ArgumentError, match="24"):
        gluonx.generate(net, [1, 2, 3], 22)
    assert len(gluonx.generate(net, [1, 2, 3], 21)[0]) == 21
