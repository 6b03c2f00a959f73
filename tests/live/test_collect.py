"""Collecting a log: resumed where it stopped, within its limit, by its design, and graded."""

import asyncio
import json
import os
import random
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


# It starts a collection for every line that it reads, in a child of its own: what takes long is imported once.
SCRIPT = """
import asyncio, json, os, sys, time
from pathlib import Path
from askwho.experts import Python, Limits
from askwho.live import Design, collect

def begin(folder):
    def say(known):
        with (folder / "books").open("a") as books:
            books.write(known["id"] + "\\n")
        time.sleep(0.01)
        return known["id"].upper()

    expert = Python("a", say, worst=100, limits=Limits(concurrency=4))
    design = Design.draw([{"id": f"q{i}"} for i in range(150)], {"a": expert})
    done = asyncio.run(collect(design, folder / "log.csv", at_a_time=4))
    answers = sorted((query, call.answer) for (query, _), call in done.answers.items())
    (folder / "done").write_text(json.dumps([answers, done.left, done.booked]))

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        begin(Path(line.strip()))
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def test_killed_at_twenty_moments_it_pays_twice_at_most_for_what_was_in_flight(tmp_path):
    kills, rng = 20, random.Random(0)  # noqa: S311 - no secret
    folders = {name: tmp_path / name for name in ("whole", "killed")}
    for folder in folders.values():
        folder.mkdir()
    books = folders["killed"] / "books"
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mother:

        def started(name):
            mother.stdin.write(f"{folders[name]}\n")
            mother.stdin.flush()
            return int(mother.stdout.readline())

        for i in range(kills):
            child = started("killed")
            while not books.exists() or len(books.read_text().split()) < 7 * (i + 1):
                time.sleep(0.002)
            time.sleep(rng.random() / 100)
            os.kill(child, signal.SIGKILL)
            assert int(mother.stdout.readline()) == signal.SIGKILL
        assert not (folders["killed"] / "done").exists()
        for name in folders:
            started(name)
            assert int(mother.stdout.readline()) == 0
        mother.stdin.close()
    told = {name: json.loads((folder / "done").read_text()) for name, folder in folders.items()}
    assert told["killed"][:2] == told["whole"][:2] == [sorted([f"q{i}", f"Q{i}"] for i in range(150)), 0]
    charged = books.read_text().split()
    assert len(charged) <= 150 + 4 * kills
    # Whatever was charged is booked, and beyond it at most what was in flight.
    assert 100 * len(charged) <= told["killed"][2] <= 100 * (150 + 4 * kills)
