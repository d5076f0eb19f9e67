"""HTML as tests look at it."""

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br"}
LOADING = {"src", "href", "srcset", "action", "data", "poster", "background"}


class Page(HTMLParser):
    """The elements of a page, which must close in the order in which they opened; its text; what it loads."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.loads, self.alts, self._open = [], "", [], [], []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [value for name, value in attrs if name in LOADING]
        self.alts += [dict(attrs).get("alt")] if tag == "img" else []
        self._open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data if not {"style", "script"} & set(self._open) else ""

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def words_apart(html: str) -> str:
    """The text of a page, with a space between the cells of its tables."""
    return Page(html.replace("<t", " <t")).words
