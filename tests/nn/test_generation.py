"""gluonx.generate: the tokens are those of the whole forward, and a step is one program."""

import gc
import pathlib
import weakref

import numpy as onp
import pytest

import gluonx
from gluonx import generation, nn, np, random, weights
from gluonx.errors import ArgumentError

TRANSFORMERS = pathlib.Path(__file__).parents[1] / "oracle" / "transformers"
PROMPTS = [[1, 2, 3, 4, 5], [6], [7, 8, 9]]


def decoder(layers=2):
    random.seed(3)
    net = nn.CausalDecoder(vocab_size=11, num_layers=layers, units=8, hidden_size=16, num_heads=4, num_kv_heads=2)
    net.initialize(init=gluonx.initializer.Normal(0.6))
    return net


def by_hand(net, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(net(np.array([tokens]))[0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.mark.dear
def test_greedy_tokens_are_those_of_the_whole_forward():
    net = decoder()
    wanted = [by_hand(net, prompt, 6) for prompt in PROMPTS]
    assert len({tuple(w) for w in wanted}) == 3
    assert gluonx.generate(net, PROMPTS, 6) == wanted
    assert gluonx.generate(net, PROMPTS[0], 6) == [wanted[0]]
    assert gluonx.generate(net, np.array([PROMPTS[0]]), 6) == [wanted[0]]
    columns = list(gluonx.stream(net, PROMPTS, 6))
    assert [list(row) for row in zip(*columns)] == wanted


@pytest.mark.dear
def test_a_step_is_one_program_whatever_the_length():
    net = decoder(1)
    generation.generate(net, [[1, 2, 3], [4, 5, 6]], 4)
    programs = generation._programs(net)
    assert programs.traces == 2  # the prompts, and every token after them
    for count, settings in ((10, {}), (7, {"temperature": 0.7}), (9, {"temperature": 2.0, "top_k": 3, "top_p": 0.5})):
        generation.generate(net, [[1, 2, 3, 4], [5, 6, 7]], count, **settings)
    assert generation._programs(net) is programs
    assert programs.traces == 2


WAYS = {
    "greedy": {},
    "greedy_stop": {"stop": [2, 7, 8]},
    "beam": {"beams": 3},
    "beam_stop": {"stop": [2, 7, 8], "beams": 3},
    "beam_short": {"stop": [2, 7, 8], "beams": 3, "length_penalty": -1.0},
    "beam_long": {"stop": [2, 7, 8], "beams": 3, "length_penalty": 2.0},
}


@pytest.mark.dear
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_texts_are_those_of_transformers(name):
    golden = onp.load(TRANSFORMERS / "outputs.npz")
    net = weights.from_pretrained(TRANSFORMERS / name)
    for way, settings in WAYS.items():
        wanted = [golden[f"{name}/{way}/{i}"].tolist() for i in range(3)]
        assert gluonx.generate(net, [[1, 5, 2], [3], [12, 7, 7, 4, 8]], 9, **settings) == wanted, way
    assert generation._programs(net).traces == 4  # prompts and tokens, greedy and by beams


@pytest.mark.dear
def test_a_step_of_a_beam_search_is_one_program_whatever_the_length():
    net = decoder(1)
    generation.generate(net, [[1, 2, 3], [4, 5, 6]], 4, beams=3)
    programs = generation._programs(net)
    assert programs.traces == 2  # the prompts, and every token after them
    for count, settings in ((10, {}), (7, {"stop": 3}), (9, {"stop": range(3, 7), "length_penalty": 2.0})):
        generation.generate(net, [[1, 2, 3, 4], [5, 6, 7]], count, beams=3, **settings)
    assert programs.traces == 2


@pytest.mark.dear
def test_a_beam_of_all_texts_finds_the_likeliest():
    net, prompt, count = decoder(), [1, 2], 3
    texts = [[a, b, c] for a in range(11) for b in range(11) for c in range(11)]
    logits = net(np.array([[*prompt, *text[:-1]] for text in texts])).asnumpy()[:, 1:]
    shares = logits - onp.log(onp.exp(logits).sum(-1, keepdims=True))
    total = [sum(shares[i, j, token] for j, token in enumerate(text)) for i, text in enumerate(texts)]
    assert gluonx.generate(net, prompt, count, beams=200) == [texts[int(onp.argmax(total))]]


@pytest.mark.dear
def test_it_sees_weights_and_layers_that_have_changed():
    net = decoder(1)
    generation.generate(net, [1, 2], 4)
    net.head.weight.set_data(-net.head.weight.data())
    assert generation.generate(net, [1, 2], 4) == [by_hand(net, [1, 2], 4)]
    net.head = nn.Dense(5, flatten=False, in_units=8)
    net.head.initialize()
    assert generation.generate(net, [1, 2], 4) == [by_hand(net, [1, 2], 4)]


@pytest.mark.dear
def test_stop_tokens_end_a_text():
    net = decoder()
    whole = gluonx.generate(net, PROMPTS, 6)
    stop = whole[0][2]
    wanted = [row[: row.index(stop) + 1] if stop in row else row for row in whole]
    assert gluonx.generate(net, PROMPTS, 6, stop=stop) == wanted
    columns = list(gluonx.stream(net, PROMPTS, 6, stop=[stop]))
    assert [[t for t in row if t is not None] for row in zip(*columns)] == wanted


@pytest.mark.dear
def test_sampling_follows_its_settings_and_the_seed():
    net = decoder(1)
    greedy = gluonx.generate(net, PROMPTS, 8)
    random.seed(1)
    first = gluonx.generate(net, PROMPTS, 8, temperature=1.0)
    random.seed(1)
    assert gluonx.generate(net, PROMPTS, 8, temperature=1.0) == first != greedy
    assert gluonx.generate(net, PROMPTS, 8, temperature=5.0, top_k=1) == greedy
    assert gluonx.generate(net, PROMPTS, 8, temperature=5.0, top_p=1e-6) == greedy
    likely = set(onp.argsort(net(np.array([[6]])).asnumpy()[0, -1])[-3:].tolist())
    drawn = gluonx.generate(net, [[6]] * 64, 1, temperature=3.0, top_k=3)
    assert {row[0] for row in drawn} == likely


@pytest.mark.dear
def test_the_net_is_not_held():
    net = decoder(1)
    gluonx.generate(net, [1], 2)
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("prompt", "settings", "said"),
    [
        ([[]], {}, "at least one token"),
        ([0.5], {}, "at least one token|whole numbers"),
        ([[0.5]], {}, "whole numbers"),
        ([1], {"max_new_tokens": 0}, "max_new_tokens must be"),
        ([1], {"temperature": -1}, "temperature must be a number that is not negative"),
        ([1], {"temperature": float("nan")}, "temperature must be"),
        ([1], {"temperature": "a"}, "temperature must be a number that is not negative, got 'a'"),
        ([1], {"temperature": [1.0, 2.0]}, "temperature must be"),
        ([1], {"max_new_tokens": 2.5}, "max_new_tokens must be a whole number, at least 1, got 2.5"),
        ([1], {"max_new_tokens": "3"}, "max_new_tokens must be"),
        ([1], {"top_k": -1, "temperature": 1.0}, "top_k must be a whole number, at least 1, got -1"),
        ([1], {"top_k": "a", "temperature": 1.0}, "top_k must be"),
        ([1], {"top_p": "a", "temperature": 1.0}, "top_p must be above 0"),
        ([1], {"beams": 2.5}, "beams must be a whole number, at least 1, got 2.5"),
        ([1], {"beams": "2"}, "beams must be"),
        ([1], {"beams": 2, "length_penalty": "a"}, "length_penalty must be a number, got 'a'"),
        ([1], {"beams": 2, "length_penalty": float("inf")}, "length_penalty must be"),
        ([1], {"stop": "ab"}, "stop must be a token or several, whole numbers; got 'ab'"),
        ([1], {"stop": 2.5}, "stop must be"),
        ([1], {"stop": None}, "stop must be"),
        ([1], {"top_k": 0}, "top_k must"),
        ([1], {"top_k": 1.5, "temperature": 1.0}, "top_k must be a whole number"),
        ([1], {"top_p": 1.5}, "top_p must"),
        ([1], {"beams": 0}, "beams must be a whole number, at least 1"),
        ([1], {"beams": 2, "temperature": 1.0}, "nothing is drawn"),
    ],
)
def test_bad_requests_say_what_was_expected(prompt, settings, said):
    with pytest.raises(ArgumentError, match=said):
        gluonx.generate(decoder(1), prompt, **settings)


def test_a_net_that_cannot_decode_is_refused():
    with pytest.raises(ArgumentError, match="init_states and incremental_decode"):
        gluonx.generate(nn.Dense(2), [1])


@pytest.mark.parametrize("given", [{"top_p": 0.9}, {"top_k": 3}])
def test_what_only_draws_heed_is_refused_where_nothing_is_drawn(given):
    with pytest.raises(ArgumentError, match=r"Give temperature=1\.0 too"):
        gluonx.generate(decoder(1), [1, 2], 3, **given)
    with pytest.raises(ArgumentError, match=r"Give temperature=1\.0 too"):
        next(gluonx.stream(decoder(1), [1, 2], 3, **given))


@pytest.mark.parametrize("wrong", [11, -1, 2**32 + 1])
@pytest.mark.parametrize("beams", [1, 2])
def test_tokens_beyond_the_vocabulary_are_refused(wrong, beams):
    with pytest.raises(ArgumentError, match=rf"tokens from 0 to 10, but {wrong} is among them"):
        gluonx.generate(decoder(1), [[1], [2, wrong]], 3, beams=beams)


@pytest.mark.dear
def test_a_stop_may_be_a_numpy_integer_and_top_k_any_large_number():
    net = decoder(1)
    first = gluonx.generate(net, [1, 2], 1)[0][0]
    assert gluonx.generate(net, [1, 2], 5, stop=onp.int64(first)) == [[first]]
    assert len(gluonx.generate(net, [1, 2], 2, temperature=1.0, top_k=2**31)[0]) == 2
