"""The one writer of a process: a thread that carries out whatever waits, all of it in one transaction."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from askwho.exceptions import InvalidInputError
from askwho.ledger._database import Database, LedgerError, Place, UndoneError
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
    """A thread with the one connection of this process that writes.

    Requests are carried out in the order in which they came. While one transaction is under way others gather for the
    next: the more of them there are, the less of a commit each pays for.
    """

    def __init__(self, place: Place, database: Database, *, durable: bool, clock: Callable[[], float]) -> None:
        self._place = place
        self._database: Database | None = database
        self._durable = durable
        self._clock = clock
        self._waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._door = threading.Lock()
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
        """Put a request in the queue, and return what will come of it."""
        if os.getpid() != self._process:
            raise LedgerError("The ledger must be opened by the process that uses it: open it after the fork.")
        with self._door:
            if not self._open:
                raise LedgerError("The ledger must be open, got one that was closed.")
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            self._waiting.put(Task(request, future))
        return future

    def _give_back(self, hold: Hold) -> None:
        """Free behind a hold what it held; if the ledger is closed by now it expires, and is spent."""
        with self._door:
            if self._open:
                self._waiting.put(Task(GiveBack(hold)))

    def close(self) -> None:
        """Carry out what waits, then end the thread and leave the database."""
        with self._door:
            if self._open and os.getpid() == self._process:
                self._open = False
                self._waiting.put(None)
        if os.getpid() == self._process:
            self._thread.join()

    def _work(self) -> None:
        going = True
        while going:
            taken: list[Task | None] = [self._waiting.get()]
            while len(taken) < _MOST:
                try:
                    taken.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            going = None not in taken
            # A hold whose asker is gone already is none: nothing was written of it.
            tasks = [task for task in taken if task is not None and not _gave_up(task)]
            if tasks:
                self._transact(tasks)
                _deliver(tasks, self._give_back)
        self._leave()

    def _transact(self, tasks: Sequence[Task]) -> None:
        """Carry out some requests in one transaction. One that the database refuses fails alone."""
        fresh, ending = self._database is None, False
        try:
            if self._database is None:
                self._database = self._place.connect()
            durable = self._durable and any(task.request.durable for task in tasks)
            needs = [task.request.needs for task in tasks]
            desk = Desk.lay(self._database, needs, self._clock(), durable=durable)
            for task in tasks:
                _carry_out(task, desk)
            ending = True
            self._database.commit(desk.writes())
        except UndoneError as error:
            self._leave()
            if len(tasks) > 1:
                for task in tasks:
                    self._transact([task])
            else:
                tasks[0].error = _failure(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits must learn of it, and the thread live on
            self._leave()
            if not (fresh or ending or isinstance(error, LedgerError)):
                # Nothing was written: a server that was started anew meanwhile takes a connection that is new, too.
                self._transact(tasks)
                return
            for task in tasks:
                task.error = _failure(error)
                # Nobody knows whether it stands: a hold that does was told to nobody.
                if isinstance(task.request, Hold) and ending:
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


def _gave_up(task: Task) -> bool:
    return isinstance(task.request, Hold) and task.future is not None and task.future.cancelled()


def _failure(error: Exception) -> LedgerError:
    """What each who waits is told, in an error of his own."""
    if isinstance(error, LedgerError):
        return LedgerError(str(error))
    said = " ".join(str(error).split())
    return LedgerError(f"The ledger must be written, got {type(error).__name__}: {said}.")


def _deliver(tasks: Sequence[Task], give_back: Callable[[Hold], None]) -> None:
    """Tell those who wait, all of one event loop at once."""
    loops: dict[asyncio.AbstractEventLoop, list[Task]] = {}
    for task in tasks:
        if task.future is not None:
            loops.setdefault(task.future.get_loop(), []).append(task)
    for loop, some in loops.items():
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
