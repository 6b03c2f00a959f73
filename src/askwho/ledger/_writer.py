"""The one writer of a process: it carries out whatever waits, all of it in one transaction."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from askwho.exceptions import InvalidInputError
from askwho.ledger._database import BusyError, Database, LedgerError, Place, UndoneError
from askwho.ledger._desk import Desk
from askwho.ledger._requests import GiveBack, Hold, Request

# Requests of one transaction: more would keep the first of them waiting for no gain.
_MOST = 1000


@dataclass(eq=False)
class Task:
    """A request, and who waits for it.

    Args:
        request: what to do.
        future: who waits; None where nobody does.
        result: what came of it.
        error: what went wrong.
    """

    request: Request
    future: asyncio.Future[Any] | None = None
    result: Any = None
    error: Exception | None = None


class Writer:
    """The one connection of this process that writes, and a thread for whatever takes its time.

    Requests are carried out in the order in which they came, all that were sent in one turn of the event loop in one
    transaction: the more of them there are, the less of a commit each pays for. Where nothing has to be waited for,
    neither a disk nor a network nor another process, that is done at the end of the turn, in the loop itself: it takes
    some tenths of a millisecond, less than to wake a thread and be woken by it. All else is done by the thread, and
    while it works others gather for its next transaction.
    """

    def __init__(self, place: Place, database: Database, *, durable: bool, clock: Callable[[], float]) -> None:
        self._place = place
        self._database: Database | None = database
        self._durable = durable
        self._clock = clock
        self._waiting: queue.SimpleQueue[list[Task] | None] = queue.SimpleQueue()
        # What was sent in this turn of an event loop, and which loop will hand it over at the end of its turn.
        self._gathered: list[Task] = []
        self._gathers: asyncio.AbstractEventLoop | None = None
        self._door = threading.RLock()
        # What the thread has been given and has not done yet: nothing may overtake it.
        self._given = 0
        self._open = True
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, name="askwho-ledger", daemon=True)
        self._thread.start()

    async def do(self, request: Request) -> Any:  # noqa: ANN401 - each request returns its own
        """Have a request carried out, and return what came of it.

        It is carried out even if who waits is cancelled: what was told to the ledger is booked. A hold of which the
        asker never learned is given back, for then nobody has asked.
        """
        try:
            return await self.send(request)
        except BaseException:
            if isinstance(request, Hold):
                self._give_back(request)
            raise

    def send(self, request: Request) -> asyncio.Future[Any]:
        """Put a request behind all others, and return what will come of it."""
        if os.getpid() != self._process:
            raise LedgerError("The ledger must be opened by the process that uses it: open it after the fork.")
        with self._door:
            if not self._open:
                raise LedgerError("The ledger must be open, got one that was closed.")
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Any] = loop.create_future()
            self._gathered.append(Task(request, future))
            # Another loop may have ended before its turn did: whoever comes first hands over for all.
            if self._gathers is not loop:
                self._gathers = loop
                loop.call_soon(self._turned)
        return future

    def _turned(self) -> None:
        """A turn of the event loop is over: carry out what was sent in it, here if that needs no waiting."""
        with self._door:
            gathered, self._gathered, self._gathers = self._gathered, [], None
            tasks = _wanted(gathered)
            if self._given or not self._quick(tasks) or (tasks and not self._transact(tasks, here=True)):
                self._hand_over(gathered)
                return
        _deliver(tasks, self._give_back, here=asyncio.get_running_loop())

    def _quick(self, tasks: Sequence[Task]) -> bool:
        """Whether a transaction waits for nothing, unless another process is within one."""
        return self._database is not None and self._database.local and not self._must_last(tasks)

    def _must_last(self, tasks: Sequence[Task]) -> bool:
        return self._durable and any(task.request.durable for task in tasks)

    def _hand_over(self, tasks: list[Task]) -> None:
        """Let the thread have some requests; the door is held."""
        if tasks:
            self._given += 1
            self._waiting.put(tasks)

    def _hand_over_all(self) -> None:
        """Let the thread have what was sent so far; the door is held."""
        gathered, self._gathered, self._gathers = self._gathered, [], None
        self._hand_over(gathered)

    def _give_back(self, hold: Hold) -> None:
        """Free behind a hold what it held; if the ledger is closed by now it expires, and is spent."""
        with self._door:
            if self._open:
                self._gathered.append(Task(GiveBack(hold)))
                self._hand_over_all()

    def close(self) -> None:
        """Carry out what waits, then end the thread and leave the database."""
        with self._door:
            if self._open and os.getpid() == self._process:
                self._open = False
                self._hand_over_all()
                self._waiting.put(None)
        if os.getpid() == self._process:
            self._thread.join()

    def _work(self) -> None:
        going = True
        while going:
            taken = [self._waiting.get()]
            while sum(map(len, filter(None, taken))) < _MOST:
                try:
                    taken.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            going = None not in taken
            some = [each for each in taken if each is not None]
            tasks = _wanted(task for each in some for task in each)
            if tasks:
                self._transact(tasks)
            with self._door:
                self._given -= len(some)
            # Told only now: whoever learns of it, and sends at once, finds the thread done.
            _deliver(tasks, self._give_back)
        self._leave()

    def _transact(self, tasks: Sequence[Task], *, here: bool = False) -> bool:
        """Carry out some requests in one transaction. One that the database refuses fails alone.

        Args:
            tasks: the requests.
            here: whether in the event loop: then nothing is waited for, and whatever goes wrong is left to the thread.

        Returns:
            Whether they were carried out: only what was tried `here` may not have been.
        """
        fresh, ending = self._database is None, False
        try:
            if self._database is None:
                self._database = self._place.connect()
            needs = [task.request.needs for task in tasks]
            durable = self._must_last(tasks)
            desk = Desk.lay(self._database, needs, self._clock(), durable=durable, wait=not here)
            for task in tasks:
                _carry_out(task, desk)
            ending = True
            self._database.commit(desk.writes())
        except BusyError:
            return False
        except UndoneError as error:
            self._leave()
            if here:
                return False
            if len(tasks) > 1:
                for task in tasks:
                    self._transact([task])
            else:
                tasks[0].error = _failure(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits must learn of it, and the thread live on
            self._leave()
            if here and not ending:
                return False
            if not (fresh or ending or isinstance(error, LedgerError)):
                # Nothing was written: a server that was started anew meanwhile takes a connection that is new, too.
                return self._transact(tasks)
            self._fail(tasks, error, unsure=ending)
        return True

    def _fail(self, tasks: Sequence[Task], error: Exception, *, unsure: bool) -> None:
        """Have it told to all that nothing was written, or that nobody knows: a hold that stands was told to nobody."""
        for task in tasks:
            task.error = _failure(error)
            if isinstance(task.request, Hold) and unsure:
                self._give_back(task.request)

    def _leave(self) -> None:
        """Leave the database; the next transaction connects anew."""
        database, self._database = self._database, None
        if database is not None:
            try:
                database.close()
            except Exception as error:  # noqa: BLE001 - a connection that is broken cannot be closed either
                del error


def _carry_out(task: Task, desk: Desk) -> None:
    task.error = task.result = None
    try:
        task.result = task.request.apply(desk)
    except InvalidInputError as error:
        task.error = error


def _wanted(tasks: Iterable[Task]) -> list[Task]:
    """Those that are still to be carried out: a hold whose asker is gone already is none."""
    return [task for task in tasks if not (isinstance(task.request, Hold) and task.future and task.future.cancelled())]


def _failure(error: Exception) -> LedgerError:
    """What each who waits is told, in an error of his own."""
    if isinstance(error, LedgerError):
        return LedgerError(str(error))
    said = " ".join(str(error).split())
    return LedgerError(f"The ledger must be written, got {type(error).__name__}: {said}.")


def _deliver(
    tasks: Sequence[Task], give_back: Callable[[Hold], None], *, here: asyncio.AbstractEventLoop | None = None
) -> None:
    """Tell those who wait, all of one event loop at once; those of the loop that this runs in there and then."""
    loops: dict[asyncio.AbstractEventLoop, list[Task]] = {}
    for task in tasks:
        if task.future is not None:
            loops.setdefault(task.future.get_loop(), []).append(task)
    for loop, some in loops.items():
        if loop is here:
            _tell(some)
            continue
        try:
            loop.call_soon_threadsafe(_tell, some)
        except RuntimeError:
            # The loop is closed: nobody will ever learn of these.
            for task in some:
                if isinstance(task.request, Hold):
                    give_back(task.request)


def _tell(tasks: Sequence[Task]) -> None:
    for task in tasks:
        if task.future is None or task.future.done():
            continue
        if task.error is not None:
            task.future.set_exception(task.error)
        else:
            task.future.set_result(task.result)
