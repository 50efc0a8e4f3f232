"""What a page asks of the network, found by parsing it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

FETCHED = {"src", "srcset", "href", "xlink:href", "data", "poster", "action", "formaction", "background", "manifest"}
HARMLESS = ("#", "data:", "figures/", "steps/", "manifest.json", "conclusions.json")


class Page(HTMLParser):
    """Elements, references, event handlers and the pages inside frames."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[tuple[str, str, str]] = []
        self.handlers: list[str] = []
        self.frames: list[Page] = []
        self.sandboxes: list[str | None] = []
        self.text: list[str] = []
        self.styles: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            value = value or ""
            if name in FETCHED:
                self.references.append((tag, name, value))
            elif name.startswith("on"):
                self.handlers.append(f"{tag} {name}")
            elif name == "srcdoc":
                self.frames.append(Page(value))
            elif name == "id":
                self.ids.append(value)
            elif name == "style":
                self.styles.append(value)
        if tag == "iframe":
            self.sandboxes.append(dict(attrs).get("sandbox"))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "style":
            self.styles.append(data)
        self.text.append(data)

    def outside(self) -> list[str]:
        """Every reference that leaves the page, also those of the frames in it."""
        leaving = [
            f"{tag} {name}={value[:60]}" for tag, name, value in self.references if not value.startswith(HARMLESS)
        ]
        for style in self.styles:
            leaving += [
                url for url in re.findall(r"url\(\s*['\"]?([^)]{0,30})", style) if not url.startswith(("data:", "#"))
            ]
            leaving += re.findall(r"@import.{0,30}", style)
        return leaving + [reference for frame in self.frames for reference in frame.outside()]
