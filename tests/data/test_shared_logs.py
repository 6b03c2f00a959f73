"""What a look at the recorded logs says: each line is true of its log; only where the shared data is."""

import json
import os
from pathlib import Path

import pyarrow.parquet
import pytest

from askwho.data import Columns, describe

LOGS = Path(os.environ.get("ASKWHO_DATA", "/nowhere")) / "logs"
# Seven cells of eight were never asked, by cohorts that differ; two methods forecast no yearly series.
SAID = {
    "chest_opacity_readers": [
        "reader03, reader04, reader09 and 1 more were hardly ever asked about queries of some kind, such as reader03",
        "whether reader01 and reader02 were asked depends on the query, most by 'x_ap'",
        "64 pairs were never asked together, such as reader01 and reader05",
    ],
    "face_emotion_apis": [],
    "imagenet16h_humans": [],
    "imdb_apis": ["199 texts occur before"],
    "m3_forecasts": ["AAM1 and AAM2 were hardly ever asked about queries of some kind, such as AAM1 where"],
    "math_l5_llms": [
        "245 classes with fewer than five rows",
        "answers equal to the truth but for how a number is written count as wrong: gemma-2-2b-it (1 row), such as",
    ],
    "mmlu_pro_llms": [],
    "routellm_llms": ["105 texts occur before"],
    "spoken_digit_apis": [],
}


def look(name, **changes):
    """The lines of a log described by the file beside it, but for those of entities that were seldom asked."""
    about = json.loads((LOGS / f"{name}.json").read_text(encoding="utf-8"))
    present = pyarrow.parquet.read_schema(LOGS / f"{name}.parquet").names
    words = {word: about[word] for word in ("truth", "answers", "grades", "features", "text", "task", "fees")}
    nulls = "no-answer" if about.get("nulls") == "no-answer" else "not-asked"
    groups = "split_group" if "split_group" in present else None
    found = describe(LOGS / f"{name}.parquet", Columns(**{**words, "nulls": nulls, "groups": groups, **changes}))
    return [problem.message for problem in found.problems if "is empty in" not in problem.message]


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not there: set ASKWHO_DATA")
@pytest.mark.parametrize("name", SAID)
def test_the_lines_of_a_recorded_log(name):
    changes = {"features": "group"} if name == "routellm_llms" else {}
    lines = look(name, **changes)
    assert len(lines) == len(SAID[name])
    for line, words in zip(lines, SAID[name], strict=True):
        assert line.startswith(words)


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not there: set ASKWHO_DATA")
def test_fees_that_are_known_only_afterwards():
    # Prices by the length of what was written: whoever finds no end gives no answer, and charges most.
    fees = look("math_l5_llms", fees="fee_*")[2]
    assert fees.startswith("fees of Meta-Llama-3.1-8B-Instruct, gemma-2-2b-it, Meta-Llama-3-8B-Instruct and ")
    assert " differ by whether there is an answer (46% of the variance of Meta-Llama-3.1-8B-Instruct's)" in fees
