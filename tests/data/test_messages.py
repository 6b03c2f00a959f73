"""What is no encoder of texts and no rule for answers, of the wrong type too."""

import numpy as np
import pytest

from askwho import Columns, InvalidInputError
from askwho.data import FeatureEncoder, TextEncoder

KNOWN = {"x": np.arange(3.0), "text": np.array(["a", "b", "c"], dtype=object)}
KINDS = "`encoder` must be 'hashing', 'minilm', a folder that is there, an object with `transform`, or a function, got "


@pytest.mark.parametrize("encoder", ["magic", 7, None, np.zeros(3), TextEncoder])
def test_what_an_encoder_must_be(encoder):
    with pytest.raises(InvalidInputError) as error:
        FeatureEncoder.fit(KNOWN, text="text", encoder=encoder)
    assert str(error.value) == f"{KINDS}{encoder!r}."


@pytest.mark.parametrize("encoder", ["minilm", "magic", len, np.zeros(3)])
def test_there_is_nothing_to_encode_without_a_text(encoder):
    with pytest.raises(InvalidInputError) as error:
        FeatureEncoder.fit(KNOWN, encoder=encoder)
    assert str(error.value) == f"`encoder` must be 'hashing' where there is no text, got {encoder!r}: give `text`."


@pytest.mark.parametrize("same", ["fuzzy", None, 3, True, ["numeric"], len])
def test_when_two_answers_are_the_same(same):
    plain = {"truth": "truth", "answers": "answer_*", "features": "x", "same": same}
    with pytest.raises(InvalidInputError) as error:
        Columns.from_json(plain)
    assert str(error.value) == (
        f"`same` must be exact, casefold, numeric or your own module:function, from an answer to its key, got {same!r}."
    )
