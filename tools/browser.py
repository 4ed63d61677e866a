"""The system's Chromium through Playwright: for the tests of pages, and for the pictures of them in README.

Playwright's own downloads are never used. What is missing is said with the line that installs it.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--force-color-profile=srgb",
)


def missing() -> str | None:
    """Why there is no browser, with the line that helps; None where there is one."""
    if find_spec("playwright") is None:
        return "pages are opened through playwright (about 170 MB): pip install -e '.[dev]'"
    if _program() is None:
        return "pages are opened in the system's Chromium (about 360 MB): sudo apt-get install chromium"
    return None


@contextmanager
def browser() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_program(), args=list(FLAGS))
        try:
            yield running
        finally:
            running.close()


@contextmanager
def opened(running: Any, address: str, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    """A page at an address, and everything it complained about: console errors and warnings, exceptions, refused
    and failed requests."""
    window = running.new_context(**context)
    page, complaints = window.new_page(), list[str]()
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.on("requestfailed", lambda request: complaints.append(f"{request.url}: {request.failure}"))
    try:
        page.goto(address)
        yield page, complaints
    finally:
        window.close()


def _program() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)
