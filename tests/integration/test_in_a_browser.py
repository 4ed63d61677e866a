"""The viewer and the report in a real browser: they are opened, moved and filtered, and the console stays empty."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import viewed_run
import zoo_toy
from needs import require_browser

from dualwm.cli.main import main
from dualwm.cli.view import Viewer
from dualwm.cli.view_server import server
from dualwm.plan.search import Budget
from dualwm.records import read_outcomes
from tools.browser import browser, opened

INK = """(name) => {
  const canvas = document.querySelector(name), {width, height} = canvas;
  const bytes = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  return new Set(new Uint32Array(bytes.buffer)).size;
}"""
"""How many colours a canvas shows; 1 where nothing was drawn."""
A4_PX = 794
ELITES = Budget.parse(zoo_toy.PLANNER["low_search"]).elites


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require_browser()
    with viewed_run.compared(tmp_path_factory.mktemp("home")) as run:
        yield run


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    require_browser()
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def address(run: Path) -> Iterator[str]:
    with server(Viewer(run).page) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()


def visible(page: Any) -> list[str]:
    return page.locator("tbody tr:visible th").all_inner_texts()


def test_episodes_are_filtered_by_outcome_label_and_stage(chromium: Any, address: str, run: Path):
    planned = [o for o in read_outcomes(run / "outcomes.jsonl") if o.system.startswith("toy")]
    failed = [o for o in planned if not o.success]
    with opened(chromium, address) as (page, complaints):
        assert len(visible(page)) == len(planned)
        page.select_option("select[name=outcome]", "failed")
        assert len(visible(page)) == len(failed)
        assert page.inner_text("#shown") == f"{len(failed)} shown"
        page.select_option("select[name=label]", "mis-ranked")
        assert len(visible(page)) == 1
        page.select_option("select[name=stage]", "converge")
        assert len(visible(page)) == 1
        page.select_option("select[name=label]", "not labelled")
        assert visible(page) == []
        assert complaints == []


def test_an_episode_is_played_and_its_pictures_are_drawn(chromium: Any, address: str):
    with opened(chromium, address) as (page, complaints):
        page.locator("tbody a").first.click()
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_function("sheets.every(sheet => sheet.complete)")
        assert page.inner_text("#clock") == "step 0"
        for canvas in ("#now", "#imagined", "#goal", "#strip canvas"):
            assert page.evaluate(INK, canvas) > 1, canvas
        walked = page.locator("#map polyline").first.get_attribute("points")
        page.locator("#slider").press("ArrowRight")
        assert page.inner_text("#clock") == "step 1"
        page.locator("#slider").fill("23")
        assert page.inner_text("#clock") == "step 23"
        assert page.locator("#now-says").inner_text() == "at step 23"
        assert page.locator("#map polyline.fan").count() == ELITES
        assert page.locator("#cost polyline.best, #cost polyline.mean").count() == 2
        assert page.locator("#chart rect").count() == page.evaluate("walk().thoughts.length")
        assert page.locator("#maps image").count() == 3
        assert walked == page.locator("#map polyline").first.get_attribute("points")  # the whole way, in the background
        page.click("#chart", position={"x": 70, "y": 60})
        assert page.inner_text("#clock") != "step 23"
        page.click("text=all episodes")
        assert page.locator("tbody tr:visible").count() == 6
        assert complaints == []


def test_the_viewer_is_dark_where_the_reader_wants_it_dark(chromium: Any, address: str):
    background = "getComputedStyle(document.body).backgroundColor"
    colours = set()
    for scheme in ("light", "dark"):
        with opened(chromium, address, color_scheme=scheme) as (page, _):
            colours.add(page.evaluate(background))
    assert len(colours) == 2


def test_the_report_opens_from_disk_draws_its_charts_and_fits_a_printed_page(chromium: Any, run: Path, tmp_path: Path):
    assert main(["report", str(run), "--out", str(tmp_path), "--json"]) == 0
    file = tmp_path / "report.html"
    assert file.stat().st_size < 5_000_000
    with opened(chromium, file.as_uri()) as (page, complaints):
        charts = page.locator("figure svg.chart[role=img]")
        assert charts.count() > 0
        assert all(charts.nth(i).bounding_box()["height"] > 100 for i in range(charts.count()))
        assert page.locator("aside:has-text('protocol card')").count() == 1
        page.locator("td a").first.click()
        anchor = page.evaluate("location.hash")
        assert page.locator(f"tr{anchor}:has-text('dualwm reproduce')").is_visible()
        page.emulate_media(media="print")
        page.set_viewport_size({"width": A4_PX, "height": 1123})
        assert page.evaluate("document.documentElement.scrollWidth") <= A4_PX
        assert page.pdf(format="A4").startswith(b"%PDF")
        assert complaints == []
