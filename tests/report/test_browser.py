"""The report in a real browser: no message on its console, and no page that scrolls sideways."""

import json
import re
import shutil
import subprocess

import pytest

from tests import cases

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here: apt-get install chromium")
WIDTHS = (1280, 390)
FRAME = """<!doctype html><iframe id=f width={width} height=900 src="{page}"></iframe><pre id=said></pre><script>
f.onload = () => {{
  const page = f.contentDocument, root = page.documentElement;
  for (const more of page.querySelectorAll("details")) more.open = true;
  const shown = [...page.querySelectorAll("figure svg")].filter(one => one.getBoundingClientRect().width > 0);
  const seen = f.contentWindow.getComputedStyle(page.body).backgroundColor;
  said.textContent = JSON.stringify({{
    scroll: root.scrollWidth, client: root.clientWidth, figures: shown.length, background: seen,
    wide: shown.filter(one => one.getBoundingClientRect().right > root.clientWidth).length,
    headings: page.querySelectorAll("h1").length, scripts: page.scripts.length,
  }});
}};
</script>"""


def browse(tmp_path, page, *flags):
    """What the browser printed, and what it wrote to its log."""
    command = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]
    command += ["--enable-logging=stderr", "--v=0", "--allow-file-access-from-files", "--virtual-time-budget=5000"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("kind", cases.SHOWN)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_message_and_no_sideways_scroll(written, tmp_path, kind, width):
    report = written(kind)[2]
    picture = tmp_path / "shot.png"
    _, console = browse(tmp_path, report.out, f"--window-size={width},900", f"--screenshot={picture}")
    assert console == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    frame = report.out.with_name(f"frame-{width}.html")
    frame.write_text(FRAME.format(width=width, page=report.out.name))
    printed, console = browse(tmp_path, frame, "--window-size=1400,1000", "--dump-dom")
    found = json.loads(re.search(r'<pre id="said">(.*?)</pre>', printed)[1])
    assert console == []
    assert found["client"] == width
    assert found["scroll"] <= found["client"]
    assert found["wide"] == 0
    assert found["figures"] >= 3
    assert (found["headings"], found["scripts"]) == (1, 0)


def test_dark_is_dark_and_light_is_light(written, tmp_path):
    out = written("classes")[2].out
    frame = out.with_name("frame.html")
    frame.write_text(FRAME.format(width=800, page=out.name))
    seen = [
        json.loads(re.search(r'<pre id="said">(.*?)</pre>', printed)[1])["background"]
        for scheme in (0, 1)
        for printed, _ in [browse(tmp_path, frame, f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom")]
    ]
    assert seen == ["rgb(18, 21, 27)", "rgb(247, 248, 250)"]


def test_the_browser_would_have_told(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>console.error('here')</script>")
    assert len(browse(tmp_path, page, "--dump-dom")[1]) == 1
