"""Collecting a log: resumed where it stopped, within its limit, by its design, and graded."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from askwho import InvalidInputError
from askwho._money import nanos
from askwho.experts import ExpertError, Fake, Limits, Reply
from askwho.live import Design, collect, grader

QUESTIONS = [{"id": f"q{i}", "text": f"question {i}"} for i in range(12)]
ROOT = Path(__file__).parents[2]


class Bookkeeper(Fake):
    """A fake that charges, in books of its own."""

    def __init__(self, name, *, honours=True, fee=0.1, seconds=0.002):
        super().__init__(name, self.reply, fee=fee, seconds=0.0, limits=Limits(concurrency=3, idempotent=honours))
        self.books = []
        self.took = seconds

    def reply(self, question):
        return Reply(f"{self.name} on {question.id}", charged=self.fee)

    async def ask(self, question):
        if not (self.limits.idempotent and question.key in self.books):
            self.books.append(question.key)
        await asyncio.sleep(self.took)
        return await super().ask(question)


def design(experts, **options):
    return Design.draw(QUESTIONS, {expert.name: expert for expert in experts}, **options)


def answers(found):
    return {place: (call.answer, call.booked) for place, call in found.answers.items()}


@pytest.mark.parametrize("honours", [False, True])
def test_stopped_at_twenty_moments_it_is_the_same_log(tmp_path, honours):
    whole = asyncio.run(collect(design([Bookkeeper("a"), Bookkeeper("b")]), tmp_path / "whole.csv"))
    experts = [Bookkeeper("a", honours=honours), Bookkeeper("b", honours=honours)]
    given_up = 0

    async def stopped(seconds):
        task = asyncio.ensure_future(collect(design(experts), tmp_path / "log.csv", at_a_time=2))
        await asyncio.sleep(seconds)
        task.cancel()
        return await asyncio.gather(task, return_exceptions=True)

    for i in range(20):
        asyncio.run(stopped(0.0007 * i))
        given_up += 4
        with (tmp_path / ".log.csv.journal").open("a") as file:
            # A process that is killed may leave half a line.
            file.write('{"id": "q1", "exp' if i % 2 else "")
    done = asyncio.run(collect(design(experts), tmp_path / "log.csv"))
    assert answers(done) == answers(whole)
    assert done.left == 0
    charged = [key for expert in experts for key in expert.books]
    assert len(set(charged)) == 24
    assert len(charged) <= 24 + (0 if honours else given_up)
    # Whatever was charged is booked.
    assert done.booked >= nanos(0.1) * len(charged)


def test_no_limit_is_passed_and_more_money_goes_on(tmp_path):
    experts = [Bookkeeper("a"), Bookkeeper("b")]
    first = asyncio.run(collect(design(experts), tmp_path / "log.csv", spend=nanos(1)))
    assert (first.booked, first.left) == (nanos(1), 14)
    second = asyncio.run(collect(design(experts), tmp_path / "log.csv", spend=nanos(1)))
    assert (second.booked, second.left) == (nanos(1), 14)
    last = asyncio.run(collect(design(experts), tmp_path / "log.csv", spend=nanos(3)))
    assert (last.booked, last.left) == (nanos("2.4"), 0)


def test_whoever_fails_is_asked_again_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr("askwho.live._collect.COOLDOWN", 0.01)
    broken = Fake("a", lambda question: ExpertError("down", charged="no"))
    first = asyncio.run(collect(design([broken]), tmp_path / "log.csv"))
    assert (first.left, first.booked) == (12, 0)
    assert len(broken.asked) <= 20 + 16
    done = asyncio.run(collect(design([Bookkeeper("a")]), tmp_path / "log.csv"))
    assert (done.left, done.booked) == (0, nanos("1.2"))


def test_a_share_is_drawn_alike_and_told(tmp_path):
    experts = [Bookkeeper(name) for name in "abcd"]
    drawn = design(experts, share=0.5, seed=3)
    assert drawn.propensity == pytest.approx(1 / 6)
    assert {len(names) for names in drawn.asked.values()} == {2}
    assert len(set(drawn.asked.values())) > 2
    assert design(experts, share=0.5, seed=3).asked == drawn.asked
    done = asyncio.run(collect(drawn, tmp_path / "log.csv"))
    assert set(done.answers) == set(drawn.calls)


def test_a_journal_of_something_else_is_refused(tmp_path):
    asyncio.run(collect(design([Bookkeeper("a")]), tmp_path / "log.csv"))
    with pytest.raises(InvalidInputError, match="must be of the same questions, experts and design"):
        asyncio.run(collect(design([Bookkeeper("b")]), tmp_path / "log.csv"))


@pytest.mark.parametrize(
    ("rule", "answer", "truth", "grade"),
    [
        ("exact", "  The Cat ", "the cat", 1.0),
        ("exact", "dog", "cat", 0.0),
        ("exact", "7", 7, 1.0),
        ("numeric", "1,250.0", "1250", 1.0),
        ("numeric", "many", 3, 0.0),
        ("regex", "It is a cat.", r"\bcat\b", 1.0),
        ("regex", "concat", r"\bcat\b", 0.0),
        ("json:a.0", '{"a": ["cat"]}', "cat", 1.0),
        ("json:a.0", "no JSON", "cat", 0.0),
        ("tests.live.test_collect:half", "cat", "dog", 0.5),
    ],
)
def test_answers_are_graded(rule, answer, truth, grade):
    assert grader(rule)(answer, truth, {}) == grade


def half(answer, truth, known):
    assert known == {}
    return 0.5 if answer != truth else 1.0


def much(*_):
    return 7


def test_a_grade_that_is_none_is_refused():
    with pytest.raises(InvalidInputError, match="must be between 0 and 1, got 7"):
        grader("tests.live.test_collect:much")("a", "b", {})
    with pytest.raises(InvalidInputError, match="`grade` must be one of"):
        grader("best")
    with pytest.raises(InvalidInputError, match="`truth` must be a regular expression"):
        grader("regex")("a", "(", {})


SCRIPT = """
import asyncio, sys, time
from pathlib import Path
from askwho.experts import Python, Limits
from askwho.live import Design, collect

def say(known):
    with open(sys.argv[1] + "/books", "a") as books:
        books.write(known["id"] + "\\n")
    time.sleep(0.01)
    return known["id"].upper()

expert = Python("a", say, worst=100, limits=Limits(concurrency=4))
design = Design.draw([{"id": f"q{i}"} for i in range(150)], {"a": expert})
done = asyncio.run(collect(design, Path(sys.argv[1]) / "log.csv", at_a_time=4))
print(len(done.answers), done.left, done.booked)
"""


def test_killed_it_goes_on_and_pays_twice_at_most_for_what_was_in_flight(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    kills = 3
    for i in range(kills):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        wanted = 30 * (i + 1)
        while not (tmp_path / "books").exists() or len((tmp_path / "books").read_text().split()) < wanted:
            time.sleep(0.005)
            assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    charged = (tmp_path / "books").read_text().split()
    assert last[:2] == ["150", "0"]
    assert set(charged) == {f"q{i}" for i in range(150)}
    assert len(charged) <= 150 + 4 * kills
    assert int(last[2]) >= 100 * len(charged)
    lines = [json.loads(line) for line in (tmp_path / ".log.csv.journal").read_text().splitlines()]
    assert {line["answer"] for line in lines if line.get("came") == "answered"} == {f"Q{i}" for i in range(150)}
