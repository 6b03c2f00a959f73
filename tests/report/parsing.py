"""A page taken apart: its elements, its text, and whatever it would load or run."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}
LOADS = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "source", "base", "form"}


class Page(HTMLParser):
    """What a page holds; reading it fails where an element is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.bad, self.words, self._open = [], [], [], [], [], []
        self.labelled, self.rows = [], []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if "id" in told:
            self.ids.append(told["id"])
        if tag == "a":
            self.links.append(told["href"])
        if tag == "svg":
            self.labelled.append(bool(told.get("aria-label")) and told.get("role") == "img")
        self.bad += [tag] if tag in LOADS else []
        self.bad += [name for name in told if name.startswith("on") or name in ("src", "style", "srcdoc", "action")]
        self.bad += [v for name, v in attrs if name in ("href", "xlink:href") and re.match(r"[a-z]+:|//", v or "")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.words.append(data)
            if "tr" in self._open:
                self.rows[-1].append(data)
        elif self._open:
            self.bad += re.findall(r"@import|url\(|expression", data)

    @property
    def text(self):
        """All that is read, in one line."""
        return " ".join(" ".join(self.words).split())
