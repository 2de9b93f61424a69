"""gluonx.generate: the tokens are those of the whole forward, and a step is one program."""

import gc
import weakref

import numpy as onp
import pytest

import gluonx
from gluonx import generation, nn, np, random
from gluonx.errors import ArgumentError

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


def test_greedy_tokens_are_those_of_the_whole_forward():
    net = decoder()
    wanted = [by_hand(net, prompt, 6) for prompt in PROMPTS]
    assert len({tuple(w) for w in wanted}) == 3
    assert gluonx.generate(net, PROMPTS, 6) == wanted
    assert gluonx.generate(net, PROMPTS[0], 6) == [wanted[0]]
    assert gluonx.generate(net, np.array([PROMPTS[0]]), 6) == [wanted[0]]
    columns = list(gluonx.stream(net, PROMPTS, 6))
    assert [list(row) for row in zip(*columns)] == wanted


def test_a_step_is_one_program_whatever_the_length():
    net = decoder(1)
    generation.generate(net, [[1, 2, 3], [4, 5, 6]], 4)
    programs = generation._programs(net)
    assert programs.traces == 2  # the prompts, and every token after them
    for count, settings in ((10, {}), (7, {"temperature": 0.7}), (9, {"temperature": 2.0, "top_k": 3, "top_p": 0.5})):
        generation.generate(net, [[1, 2, 3, 4], [5, 6, 7]], count, **settings)
    assert generation._programs(net) is programs
    assert programs.traces == 2


def test_it_sees_weights_and_layers_that_have_changed():
    net = decoder(1)
    generation.generate(net, [1, 2], 4)
    net.head.weight.set_data(-net.head.weight.data())
    assert generation.generate(net, [1, 2], 4) == [by_hand(net, [1, 2], 4)]
    net.head = nn.Dense(5, flatten=False, in_units=8)
    net.head.initialize()
    assert generation.generate(net, [1, 2], 4) == [by_hand(net, [1, 2], 4)]


def test_stop_tokens_end_a_text():
    net = decoder()
    whole = gluonx.generate(net, PROMPTS, 6)
    stop = whole[0][2]
    wanted = [row[: row.index(stop) + 1] if stop in row else row for row in whole]
    assert gluonx.generate(net, PROMPTS, 6, stop=stop) == wanted
    columns = list(gluonx.stream(net, PROMPTS, 6, stop=[stop]))
    assert [[t for t in row if t is not None] for row in zip(*columns)] == wanted


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
        ([1], {"temperature": -1}, "temperature must not"),
        ([1], {"top_k": 0}, "top_k must"),
        ([1], {"top_p": 1.5}, "top_p must"),
    ],
)
def test_bad_requests_say_what_was_expected(prompt, settings, said):
    with pytest.raises(ArgumentError, match=said):
        gluonx.generate(decoder(1), prompt, **settings)


def test_a_net_that_cannot_decode_is_refused():
    with pytest.raises(ArgumentError, match="init_states and incremental_decode"):
        gluonx.generate(nn.Dense(2), [1])
