"""Vocabularies and embeddings, written once for MXNet 1.9.1 and gluonx."""

import pathlib
import tempfile
import warnings
from collections import Counter

FILE = """3 4
a 0.1 0.2 0.3
b 1 2 3
<unk> 9 8 7
a 5 5 5
Upper 4 5 6
upper 7 8 9
"""


def run(text):
    found = {
        "counts": dict(text.utils.count_tokens_from_str(" Life is great ! \n life is good . \n", to_lower=True)),
        "delim": dict(text.utils.count_tokens_from_str("*Life*is*great*!*\n", r"\*")),
    }
    counter = Counter(["a", "b", "b", "c", "c", "c", "some_word$", "d", "d"])
    for i, options in enumerate(
        (
            {},
            {"most_freq_count": 2},
            {"min_freq": 2, "reserved_tokens": ["<pad>", "b"]},
            {"unknown_token": "c", "most_freq_count": 3},
        )
    ):
        v = text.vocab.Vocabulary(counter, **options)
        found[f"vocab {i}"] = [
            len(v),
            v.idx_to_token,
            v.reserved_tokens,
            v.to_indices(["c", "zz"]),
            v.to_tokens([1, 0]),
        ]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = pathlib.Path(folder) / "vectors.txt"
        path.write_text("\n".join(FILE.splitlines()[1:]))
        e = text.embedding.CustomEmbedding(str(path))
        small = text.embedding.CustomEmbedding(str(path), vocabulary=text.vocab.Vocabulary(counter))
        both = text.embedding.CompositeEmbedding(text.vocab.Vocabulary(counter), [e, small])
        for name, one in (("own", e), ("small", small), ("both", both)):
            found[name] = [one.vec_len, one.idx_to_token, one.idx_to_vec.asnumpy().round(4).tolist(), len(one)]
        found["vectors"] = [
            e.get_vecs_by_tokens(["a", "zz", "UPPER"]).asnumpy().round(4).tolist(),
            e.get_vecs_by_tokens(["UPPER", "Upper"], lower_case_backup=True).asnumpy().round(4).tolist(),
            e.get_vecs_by_tokens("b").asnumpy().tolist(),
        ]
        e.update_token_vectors(["a", "b"], e.get_vecs_by_tokens(["b", "b"]) * 2)
        found["updated"] = e.idx_to_vec.asnumpy().round(4).tolist()
    return found
