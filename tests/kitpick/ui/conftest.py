"""The explain page as people meet it: a real server with the shipped models, over a real catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument, encode_document

EVERYBODYS = Filter()
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"


def api(tool: str, name: str, description: str, **more: Any) -> ApiDocument:
    definition = {"source": "shop", "category": "office", "description": description}
    return ApiDocument(id=f"shop/{tool}/{name}", tool=tool, api=name, **definition, **more)


DOCUMENTS = [
    api("weather", "get_weather", "Current weather of a city: temperature, wind and rain."),
    api("weather", "get_forecast", "Weather forecast of a city for the next days."),
    api("mail", "send_email", "Send an email message to a recipient. " + "It is sent at once. " * 40),
    api("mail", "list_emails", "List the email messages of a mailbox."),
    api("calendar", "create_event", "Create a new event in the calendar."),
    api("money", "convert_currency", "Convert an amount of money between two currencies."),
    api("text", "translate_text", "Translate a text into another language."),
    api("flights", "search_flights", "Search for flights between two airports on a date."),
    api("stocks", "get_stock_price", "Latest price of a share on the stock exchange."),
    api("files", "delete_file", "Delete a file from the disk for ever."),
    api("notes", "hostile_note", f"Write a note about {HOSTILE}"),
    api("payroll", "pay_salaries", "Pay the salaries of all employees.", allowed=("boss",)),
]


class Shown:
    """A server that shows the page."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.page = f"{url}/ui/"

    def ask(self, name: str, body: Any = None, **headers: str) -> httpx2.Response:
        method = "GET" if body is None else "POST"
        return httpx2.request(method, f"{self.page}api/{name}", json=body, headers=headers, timeout=60)

    def explain(self, query: str, **more: Any) -> dict[str, Any]:
        answer = self.ask("explain", {"query": query, **more})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


Show = Callable[..., AbstractContextManager[Shown]]


@contextmanager
def showing(
    catalog: str,
    marks: Path | None = None,
    permitted: Filter = EVERYBODYS,
    adapted: Path | None = None,
    **settings: Any,
) -> Iterator[Shown]:
    from kitpick.ui.desk import Desk, UiSettings
    from kitpick.ui.routes import page_routes
    from kitpick_service.core import Service
    from kitpick_service.server import RescorerServer
    from kitpick_service.settings import ServiceSettings

    service = Service(ServiceSettings(**{"port": 0, "warm_up_seconds": 0, **settings}))
    desk = Desk(service, UiSettings(catalog=catalog, marks=marks, adapted=adapted, permitted=permitted))
    listening = threading.Event()
    urls: list[str] = []

    def started(url: str) -> None:
        urls.append(url)
        listening.set()

    server = RescorerServer(service, started, partial(page_routes, desk))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert listening.wait(300), "the server did not start"
    try:
        yield Shown(urls[0])
    finally:
        server.should_exit = True
        thread.join(300)
        desk.close()
        assert not thread.is_alive(), "the server did not end"


@pytest.fixture(scope="session")
def show() -> Show:
    """Starts a server: `with show(catalog, marks=…, keys=…) as shown:`."""
    return showing


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    """URL of a catalog of twelve APIs, one of them for the boss alone."""
    folder = tmp_path_factory.mktemp("shop")
    lines = folder / "shop.jsonl"
    lines.write_bytes(b"\n".join(map(encode_document, DOCUMENTS)))
    settings = Settings(embedding_cache=folder / "embeddings.db")
    with Catalog.open(f"sqlite:{folder / 'shop.db'}", settings=settings) as catalog:
        catalog.ingest(f"documents:{lines}", name="shop")
    return f"sqlite:{folder / 'shop.db'}"


@pytest.fixture(scope="session")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server of `shown` puts marks."""
    return tmp_path_factory.mktemp("marks") / "judgements.jsonl"


@pytest.fixture(scope="session")
def shown(shop: str, marks: Path) -> Iterator[Shown]:
    """A server for all tests that do not change it."""
    with showing(shop, marks) as found:
        yield found


class Tab:
    """A page in a real browser, and what its console complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(60_000)
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def _listen(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def explain(self, request: str, **more: str) -> None:
        """Asks as somebody does, and waits for the answer."""
        if more:
            self.open("#choices")
        for name, value in more.items():
            field = self.page.locator(f"#{name}")
            field.select_option(value) if name in {"profile", "other"} else field.fill(value)
        self.page.fill("#request", request)
        self.page.get_by_role("button", name="Find tools").click()
        self.page.locator("#status", has_text="Answered").wait_for()
        self.open(".machinery")

    def open(self, selector: str) -> None:
        """Opens what is folded."""
        script = "every => every.forEach(details => { details.open = true; })"
        self.page.locator(f"details{selector}").evaluate_all(script)

    @property
    def text(self) -> str:
        return str(self.page.inner_text("main"))


@pytest.fixture(scope="module")
def chromium(browser: str) -> Iterator[Any]:
    """A browser for one file of tests: while it runs, this thread belongs to its event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_tab(chromium: Any) -> Iterator[Callable[..., Tab]]:
    """Opens a URL in a fresh profile: `tab = open_tab(url, color_scheme="dark")`."""
    contexts = []

    def opened(url: str, **settings: Any) -> Tab:
        contexts.append(chromium.new_context(**settings))
        tab = Tab(contexts[-1].new_page())
        tab.page.goto(url)
        tab.page.wait_for_load_state("networkidle")
        return tab

    yield opened
    for context in contexts:
        context.close()
