"""Experts from a file: every kind, and a line in every message."""

import asyncio

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho._money import nanos
from askwho.data import write_table
from askwho.experts import Fake, Http, Onnx, OpenAI, Python, Question, Recorded, read_experts
from askwho.experts._lines import Lines
from tests.experts.models import write_linear

KEYS = {"A_KEY": "sk-planted-secret-1", "B_KEY": "sk-planted-secret-2"}
WHOLE = """# Who can be asked.
[experts.small]
kind = "openai"
url = "http://127.0.0.1:9/v1"
model = "tiny"
key_env = "A_KEY"
system = "Answer in one word."
prompt = \"\"\"
[experts.fake]
kind = "nothing"
Which animal is {text}?\"\"\"
parse = { choices = ["cat", "dog"] }
price = { input = 0.15, output = 0.6 }
max_tokens = 8
timeout = 2.5
rate = 20
idempotent = true
options = { temperature = 0.0 }

[experts.service]
kind = "http"
url = "http://127.0.0.1:9/score"
body = { text = "{text}", top = 1 }
answer = "result.label"
info = "result.score"
fee_path = "billed"
max_fee = 0.02
headers = { "X-Api-Key" = { env = "B_KEY" } }
free_statuses = [500, 503]

[experts.rule]
kind = "python"
function = "tests.experts.models:upper"
fee = 0.001

[experts.net]
kind = "onnx"
model = "net.onnx"
columns = ["x_0", "x_1"]
classes = ["cat", "dog"]

[experts."an old one"]
kind = "recorded"
table = "log.csv"
answer = "answer_old"
fee = "fee_old"
latency = "took"
speed = 10
"""


@pytest.fixture
def folder(tmp_path):
    write_linear(tmp_path / "net.onnx")
    write_table(
        tmp_path / "log.csv",
        {"id": np.array(["q1", "q2"]), "answer_old": ["cat", None], "fee_old": [0.25, 0.5], "took": [0.0, 0.02]},
    )
    return tmp_path


def read(folder, text, environment=KEYS):
    (folder / "experts.toml").write_text(text, encoding="utf-8")
    return read_experts(folder / "experts.toml", environment=environment)


def test_every_kind_is_read(folder):
    experts = read(folder, WHOLE)
    assert list(experts) == ["small", "service", "rule", "net", "an old one"]
    assert [type(expert) for expert in experts.values()] == [OpenAI, Http, Python, Onnx, Recorded]
    assert [expert.name for expert in experts.values()] == list(experts)
    small, service, rule, net, old = experts.values()
    assert small.endpoint.url == "http://127.0.0.1:9/v1/chat/completions"
    assert (small.limits.timeout, small.limits.rate, small.limits.idempotent) == (2.5, 20.0, True)
    # Eight tokens that may be written, and no token of the prompt is less than a byte.
    most = small.worst_of({"text": "a fox"})
    assert nanos("0.0000048") < most < small.worst == nanos("0.15") * 8192 // 10**6 + nanos("0.0000048")
    assert service.worst == nanos("0.02")
    assert {500, 503, 429} <= service.endpoint.free
    assert rule.worst == nanos("0.001")
    assert old.worst == nanos("0.5")

    async def ask(expert, **known):
        return await expert.ask(Question(known.pop("id", "q1"), known, "key", 1.0))

    assert asyncio.run(ask(rule, text="fox")).answer == "FOX"
    assert asyncio.run(ask(net, x_0=1.0, x_1=-1.0)).answer == "cat"
    assert asyncio.run(ask(old, id="q1")).charged == nanos("0.25")
    assert asyncio.run(ask(old, id="q2")).answer is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('kind = "openai"', 'kind = "chat"', 3, "`kind` must be one of openai, http, python, onnx, recorded"),
        ("max_tokens = 8", 'max_tokens = "8"', 14, "`max_tokens` must be a whole number"),
        ("timeout = 2.5", "timeout = 0", 15, "`timeout` must be above 0"),
        ("timeout = 2.5", "timeout = true", 15, "`timeout` must be a number"),
        ("rate = 20", "rat = 20", 16, "`rat` must be a field of this kind"),
        ('url = "http://127.0.0.1:9/v1"', 'url = "http://127.0.0.1/{text}"', 4, "`url` must be a whole http"),
        ('url = "http://127.0.0.1:9/v1"', 'url = "http://me:pw@host/v1"', 4, "no user and no password"),
        ('url = "http://127.0.0.1:9/v1"', "", 2, "`url` must be given"),
        ('key_env = "A_KEY"', 'key_env = "C_KEY"', 6, "`C_KEY` must be set in the environment"),
        ("parse = { choices", "parse = { choice", 12, "`parse` must have some of"),
        ("price = { input = 0.15,", "price = {", 13, "`price` must have numbers for input and output"),
        ("price = { input = 0.15, output = 0.6 }", 'price = "free"', 13, "`price` must be"),
        ('answer = "result.label"', 'answer = "result..label"', 24, "`answer` must be a path"),
        ("max_fee = 0.02", "", 20, "`max_fee` must say the most"),
        ("free_statuses = [500, 503]", "free_statuses = [200]", 29, "`free_statuses` must be statuses"),
        ('{ env = "B_KEY" }', '{ key = "B_KEY" }', 28, "`headers` must be texts or"),
        ("models:upper", "models:lower", 33, "`function` must be module:function"),
        ('model = "net.onnx"', 'model = "log.csv"', 38, "`model` must be an ONNX file"),
        ('model = "net.onnx"', 'model = "none.onnx"', 38, "`model` must be a file"),
        ('answer = "answer_old"', 'answer = "answer_new"', 44, "`table` must have the columns"),
        ("fee = 0.001", "fee = -0.001", 34, "nobody is paid"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(folder, old, new, line, message):
    assert WHOLE.count(old) == 1
    with pytest.raises(InvalidInputError, match=message) as error:
        read(folder, WHOLE.replace(old, new))
    said = str(error.value)
    assert said.startswith(f"experts.toml, line {line}, expert ")
    assert not any(secret in said for secret in KEYS.values())


def test_a_file_that_is_no_toml_says_where(folder):
    with pytest.raises(InvalidInputError, match=r"must be TOML: .*line 2"):
        read(folder, "[experts.a]\nkind = \n")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_experts(folder / "nowhere.toml")
    with pytest.raises(InvalidInputError, match="got none"):
        read(folder, "")
    with pytest.raises(InvalidInputError, match=r"line 1: `expert` must be a table \[experts.NAME\]"):
        read(folder, '[expert.a]\nkind = "python"\n')


def test_texts_over_several_lines_hold_no_tables():
    lines = Lines('[experts.a]\nx = """\n[experts.b]\ny = 1\n"""\nz = 2\n[experts."b c".d]\nw = 1\n')
    assert lines.of(["experts", "a", "z"]) == 6
    assert lines.of(["experts", "b", "y"]) == 1
    assert lines.of(["other"]) is None
    assert lines.of(["experts", "b c", "d", "w"]) == 8
    assert lines.of(["experts", "a", "not there"]) == 1


def test_a_fake_says_what_it_is_told_to():
    async def ask(fake, id_):
        return (await fake.ask(Question(id_, {}, "key", 1.0))).answer

    fake = Fake("a", ["x", "y"])
    assert [asyncio.run(ask(fake, "q")) for _ in range(3)] == ["x", "y", "y"]
    assert [question.id for question in fake.asked] == ["q"] * 3
    assert asyncio.run(ask(Fake("a", lambda question: question.id), "q7")) == "q7"
