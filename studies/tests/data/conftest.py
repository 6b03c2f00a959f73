"""A web server of this machine, which can be told to fail."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from studies.tests.data import made

from askwho_studies.data import SETS


@dataclass
class Web:
    """What it serves, and how it misbehaves.

    Args:
        files: by name.
        cuts: of each request in turn, after how many bytes the connection is cut; None: not at all.
        codes: of each request in turn, the status; None: as it should be.
        ranges: whether it knows of ranges.
        tags: whether it tells the version of a file.
        asked: of each request, the name and the range.
    """

    url: str = ""
    files: dict = field(default_factory=dict)
    cuts: list = field(default_factory=list)
    codes: list = field(default_factory=list)
    ranges: bool = True
    tags: bool = True
    asked: list = field(default_factory=list)


@pytest.fixture
def web(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state = Web()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            name, span = self.path.lstrip("/"), self.headers.get("Range")
            state.asked.append((name, span))
            cut = state.cuts.pop(0) if state.cuts else None
            code = state.codes.pop(0) if state.codes else None
            data = state.files.get(name)
            tag = f'"{hash(data)}"'
            if code is not None or data is None:
                self.send_error(code or 404)
                return
            start = 0
            if state.ranges and span and self.headers.get("If-Range", tag) == tag:
                start = int(span.removeprefix("bytes=").removesuffix("-"))
                if start >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.send_header("Content-Length", "5")
                    self.end_headers()
                    self.wfile.write(b"no!!!")
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            if state.tags:
                self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            self.wfile.write(data[start:] if cut is None else data[start : start + cut])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def serve(web, monkeypatch):
    """Serve the archives of a small set, and know it by them; other archives may be given."""

    def serve(name, files=None):
        if name == "cifar10n":
            pytest.importorskip("torch")
        files = made.archives(name) if files is None else files
        web.files |= files
        monkeypatch.setitem(SETS, name, made.small(name, files))
        return web

    return serve
