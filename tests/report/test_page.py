import hashlib
import re
import warnings
from base64 import b64encode
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from askwho import InvalidInputError, Target, calibrate, read_log, write_report
from askwho.replay import Replay
from askwho.report._words import number
from tests import cases, synthetic
from tests.report.parsing import Page

pytest.importorskip("matplotlib")
SECTIONS = ["headline", "frontier", "asked", "difficulty", "calibration", "changed", "provenance"]


@pytest.fixture(params=cases.SHOWN)
def kind(request):
    return request.param


@pytest.fixture
def text(written, kind):
    return written(kind)[2].out.read_text()


def test_every_section_is_there_under_one_heading(text):
    page = Page(text)
    assert page.tags.count("h1") == 1
    assert [ident for ident in page.ids if ident in SECTIONS] == SECTIONS
    assert len(set(page.ids)) == len(page.ids)
    assert all(link[1:] in page.ids for link in page.links if link.startswith("#"))
    assert page.tags.count("main") == 1
    assert page.labelled
    assert all(page.labelled)
    assert page.tags.count("h2") == 6 + ("hidden" in page.ids)
    assert [link[1:] for link in page.links if link.startswith("#")] == [
        i for i in page.ids if i in (*SECTIONS[1:], "hidden")
    ]


def test_nothing_is_loaded_and_nothing_runs(text):
    assert Page(text).bad == []
    assert not re.search(r"https?://", text)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    seal = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{seal}';")
    assert "unsafe" not in policy
    assert text.count("<style") == 1


def test_every_colour_of_a_figure_is_one_of_the_pages(text):
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    rules = style[style.index(".s0{") :]
    assert "var(--accent)" in rules
    assert not re.search(r"#[0-9a-f]{3,6}", rules)
    assert "prefers-color-scheme:dark" in style


def test_figures_lie_beside_the_page_and_are_named_in_it(written, kind):
    report = written(kind)[2]
    links = [link for link in Page(report.out.read_text()).links if not link.startswith("#")]
    assert sorted(links) == sorted(f"report_figures/{path.name}" for path in report.figures)
    for path in report.figures:
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest()[:12] in path.name
        if path.suffix == ".png":
            assert data.startswith(b"\x89PNG")
        else:
            assert ET.fromstring(data).tag.endswith("svg")  # noqa: S314 - our own
    assert {path.name.split(".")[0] for path in report.figures} >= {"frontier", "asked", "calibration"}


def test_what_is_hostile_is_text(written):
    text = written("hostile")[2].out.read_text()
    page = Page(text)
    assert "<script" not in text
    assert "<img" not in text
    assert cases.HOSTILE in page.text
    assert cases.NAMES["left"] in page.text
    assert "=cmd()|\"quoted\" & 'more'" in page.text
    assert "$\\alpha_1$" in page.text
    assert "مجموعة" in page.text
    assert not re.search("[\u0000-\u0008\u202a-\u202e]", text)
    # Shortened with an ellipsis, wherever it stands.
    assert "a very long name " * 20 not in page.text
    assert "…" in page.text


def test_the_same_input_gives_the_same_bytes(written, tmp_path):
    policy, log, report = written("hostile")
    again = write_report(policy, log, tmp_path / "report.html", title="hostile.parquet", draws=30)
    assert [path.name for path in again.figures] == [path.name for path in report.figures]
    assert untimed(again.out.read_text()) == untimed(report.out.read_text())


def untimed(text):
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text)


def test_the_readers_own_settings_of_matplotlib_change_nothing(written, tmp_path):
    import matplotlib as mpl  # noqa: PLC0415

    policy, log, report = written("classes")
    with mpl.rc_context({"text.usetex": True, "axes.edgecolor": "red", "font.size": 30}):
        again = write_report(policy, log, tmp_path / "report.html", title="classes.parquet", draws=30)
        assert mpl.rcParams["font.size"] == 30
    assert untimed(again.out.read_text()) == untimed(report.out.read_text())


def test_the_oracle_is_marked(text):
    assert "oracle (needs the truth)" in text


def test_an_error_is_never_called_an_accuracy(text):
    assert "accura" not in text.lower()


def test_every_error_of_numbers_is_a_root(written):
    policy, log, report = written("far")
    shown = Page(report.out.read_text()).text.partition("Where this comes from")[0]
    off = np.abs(log.answers.values - log.truth[:, None])
    # Squares begin where roots end: the least of their means is above the largest single deviation, and any number.
    assert np.mean(off.min(axis=1) ** 2) > off.max()
    largest = max(off.max(), np.abs(log.truth).max(), np.abs(log.answers.values).max(), len(log) * len(policy.panel))
    numbers = [float(word.replace(",", "")) for word in re.findall(r"[\d.,]*\d", shown)]
    assert len(numbers) > 200
    assert max(numbers) <= largest * 1.01
    assert "RMSE" in shown
    assert "majority" not in shown
    assert "vote" not in shown
    assert "everybody's mean" in shown
    assert "everybody, weighed" in shown
    best = np.sqrt(np.mean(off**2, axis=0).min())
    assert f"it gets {number(best)}" in shown


@pytest.mark.usefixtures("undrawn")
def test_scores_that_are_given_are_what_is_shown(tmp_path):
    policy, log = cases.case("plain vote")
    errors = Replay.of(policy, log).log.errors
    shown = {}
    for name, scores in {"perfect": -errors, "random": np.random.default_rng(0).random(errors.shape)}.items():
        out = tmp_path / f"{name}.html"
        report = write_report(policy, log, out, target=Target(k=1), scores=scores, draws=5)
        page = Page(report.out.read_text())
        assert "by scores that were given" in page.text
        assert "one at a time" not in page.text
        shown[name] = float(re.search(r"the policy gets error ([\d.]+)", page.text)[1])
        chosen = errors[np.arange(len(errors)), scores.argmax(axis=1)].mean()
        assert shown[name] == pytest.approx(chosen, abs=0.0005)
    own = Page(write_report(policy, log, tmp_path / "own.html", target=Target(k=1), draws=5).out.read_text()).text
    assert "by scores that were given" not in own
    assert shown["perfect"] < float(re.search(r"the policy gets error ([\d.]+)", own)[1]) < shown["random"]


def test_grades_say_what_cannot_be_shown(written):
    text = Page(written("grades")[2].out.read_text()).text
    assert "The log holds grades, not answers" in text
    assert "always one who is asked" in text


def test_answers_that_are_missing_are_said_to_be(written):
    said = "The log does not have everybody's answers."
    assert said in Page(written("missing")[2].out.read_text()).text
    assert said not in Page(written("classes")[2].out.read_text()).text


def test_what_may_be_hidden_is_told_where_not_everybody_was_asked(written):
    page = Page(written("missing")[2].out.read_text())
    assert "hidden" in page.ids
    assert "if these odds are off by a factor Γ" in page.text
    assert "hidden" not in Page(written("classes")[2].out.read_text()).ids


def test_groups_are_found_or_given(written, request, tmp_path):
    policy, log, report = written("classes")
    request.getfixturevalue("undrawn")
    assert "By kind" in Page(report.out.read_text()).text
    halves = np.where(np.arange(len(log)) % 2, "odd ones", "even ones")
    given = write_report(policy, log, tmp_path / "r.html", by=("half", halves), draws=5)
    text = Page(given.out.read_text()).text
    assert "By half" in text
    assert "odd ones" in text
    bare = write_report(*cases.case("regression"), tmp_path / "r.html", draws=5)
    assert "The log tells no groups apart" in Page(bare.out.read_text()).text


@pytest.mark.parametrize("target", [{"k": 1}, {"k": 3}, {"fee_weight": 0.0}, {"budget": 0.3, "confidence": 0.8}])
@pytest.mark.usefixtures("undrawn")
def test_any_setting_can_be_shown(tmp_path, target):
    policy, log = cases.case("classes")
    if "confidence" in target:
        policy = calibrate(policy, read_log(synthetic.classification(300, 2), cases.ANSWERS))
    text = write_report(policy, log, tmp_path / "r.html", draws=5, target=Target(**target)).out.read_text()
    page = Page(text)
    if "k" in target:
        assert f"the committee is always of {target['k']}" in page.text
        assert f"one setting: k = {target['k']}." in page.text
    if target == {"k": 1}:
        assert "nobody is asked second" in page.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "r.pdf"}, "`out` must end in .html"),
        ({"out": "no/r.html"}, "`out` must lie in a folder that is there"),
        ({"out": "folder.html"}, "there is a folder of that name"),
        ({"out": "taken.html"}, "must leave room for its figures"),
        ({"by": ("half", np.zeros(3))}, "`by` must have a value for each of the 160 queries, got 3"),
        ({"target": Target(k=99)}, "`k` must be between 1 and"),
        ({"target": Target(max_error=0.0)}, "`max_error` must be at least"),
        ({"scores": np.zeros((160, 3))}, "`scores` must have shape (160, 4), got (160, 3)"),
        ({"scores": np.zeros((3, 4))}, "`scores` must have shape (160, 4), got (3, 4)"),
        ({"scores": np.full((160, 4), np.nan)}, "`scores` must be finite, got nan"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(tmp_path, change, message):
    policy, log = cases.case("classes")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "taken_figures").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    out = tmp_path / change.pop("out", "r.html")
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        write_report(policy, log, out, draws=5, **change)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_no_target_is_refused(tmp_path):
    policy, log = cases.case("classes")
    with pytest.raises(InvalidInputError, match="One target must be given"):
        write_report(policy, log, tmp_path / "r.html", target=Target(k=1, budget=3.0))
    assert not list(tmp_path.iterdir())


def test_letters_that_matplotlib_lacks_are_no_warning(written, tmp_path):
    policy, log, _ = written("classes")
    words = np.where(np.arange(len(log)) % 2, "漢字", "\U0001f984")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = write_report(policy, log, tmp_path / "r.html", by=("文", words), draws=5)
    assert "漢字" in report.out.read_text()
