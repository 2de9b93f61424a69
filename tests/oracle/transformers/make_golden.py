"""Have transformers make tiny nets with random weights, and compute their outputs.

Run with a Python that has torch and transformers::

    /path/to/python tests/oracle/transformers/make_golden.py

Beside itself it writes, for each net, a folder as the Hugging Face Hub has them (``config.json`` and
``model.safetensors``), and ``outputs.npz`` with inputs and outputs.
"""

import json
import pathlib

import numpy
import safetensors.torch
import torch
import transformers as hf

HERE = pathlib.Path(__file__).parent
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
SIZES["vocab_size"] = 13
TOKENS = numpy.array([[1, 5, 2, 12, 7, 0], [3, 3, 9, 4, 0, 0]])
TYPES = numpy.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0]])
VALID = numpy.array([6, 4])
GPT2 = {"vocab_size": 13, "n_positions": 24, "n_embd": 8, "n_layer": 2, "n_head": 2}
VIT = {**{n: v for n, v in SIZES.items() if n != "vocab_size"}, "image_size": 8, "patch_size": 4, "num_labels": 3}
LLAMA = {**SIZES, "num_attention_heads": 4, "num_key_value_heads": 2, "rope_parameters": {
    "rope_type": "default", "rope_theta": 500.0}, "rms_norm_eps": 1e-5}  # fmt: skip
NETS = {
    "bert": lambda: hf.BertModel(hf.BertConfig(**SIZES, max_position_embeddings=16)),
    "bert_words": lambda: hf.BertForMaskedLM(hf.BertConfig(**SIZES, max_position_embeddings=16)),
    "gpt2": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**GPT2)),
    "vit": lambda: hf.ViTForImageClassification(hf.ViTConfig(**VIT)),
    "vit_patches": lambda: hf.ViTModel(hf.ViTConfig(**VIT, hidden_act="gelu_new"), add_pooling_layer=False),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**LLAMA)),
    "llama_tied": lambda: hf.LlamaForCausalLM(
        hf.LlamaConfig(**LLAMA, tie_word_embeddings=True, attention_bias=True, mlp_bias=True)
    ),
}
PROMPTS = [[1, 5, 2], [3], [12, 7, 7, 4, 8]]
BEAM = {"num_beams": 3, "early_stopping": False}
WAYS = {
    "greedy": {"eos_token_id": 100},
    "greedy_stop": {"eos_token_id": [2, 7, 8]},
    "beam": {"eos_token_id": 100, **BEAM},
    "beam_stop": {"eos_token_id": [2, 7, 8], **BEAM},
    "beam_short": {"eos_token_id": [2, 7, 8], "length_penalty": -1.0, **BEAM},
    "beam_long": {"eos_token_id": [2, 7, 8], "length_penalty": 2.0, **BEAM},
}
DROPPED = ("transformers_version", "dtype")


def inputs(name):
    if name.startswith("vit"):
        return {"pixel_values": numpy.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype("float32")}
    if name.startswith("bert"):
        seen = (numpy.arange(6) < VALID[:, None]).astype("int64")
        return {"input_ids": TOKENS, "token_type_ids": TYPES, "attention_mask": seen}
    return {"input_ids": TOKENS}


@torch.no_grad()
def main():
    outputs = {f"inputs/{key}": value for n in ("bert", "vit") for key, value in inputs(n).items()}
    for i, (name, make) in enumerate(NETS.items()):
        torch.manual_seed(i)
        net = make().eval()
        for key, param in net.named_parameters():
            around = 1.0 if "norm" in key.lower() and key.endswith("weight") else 0.0
            param.copy_(around + (0.6 if name == "gpt2" else 0.3) * torch.randn_like(param))
        net.save_pretrained(HERE / name)
        (HERE / name / "generation_config.json").unlink(missing_ok=True)
        state = {
            key: value.contiguous()
            for key, value in safetensors.torch.load_file(HERE / name / "model.safetensors").items()
        }
        safetensors.torch.save_file(state, HERE / name / "model.safetensors")
        config = json.loads((HERE / name / "config.json").read_text())
        config = {key: value for key, value in config.items() if key not in DROPPED}
        (HERE / name / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
        found = net(**{key: torch.from_numpy(value) for key, value in inputs(name).items()})
        main = found.logits if hasattr(found, "logits") else found.last_hidden_state
        outputs[name] = main.numpy()
        if name == "bert":
            outputs["bert/pooled"] = found.pooler_output.numpy()
        if name in ("gpt2", "llama"):
            for way, more in WAYS.items():
                for row, prompt in enumerate(PROMPTS):
                    prompt = torch.tensor([prompt])
                    seen = torch.ones_like(prompt)
                    made = net.generate(
                        prompt, attention_mask=seen, max_new_tokens=9, do_sample=False, pad_token_id=99, **more
                    )
                    new = made[0, prompt.shape[1] :]
                    outputs[f"{name}/{way}/{row}"] = new[new != 99].numpy()
                    print(way, new)
        print(name, outputs[name].shape, outputs[name].std())
    numpy.savez_compressed(HERE / "outputs.npz", **outputs)


if __name__ == "__main__":
    main()
