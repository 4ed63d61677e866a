"""Pictures of the report and of the viewer for README: `make pictures`. Needs Playwright and Chromium.

Both show recorded results as they are: the report is written from outcome files below results/, the viewer runs the
farthest task that the shipped system solved among its first ones once more.
"""

import argparse
import io
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from dualwm.cli.view import Viewer
from dualwm.cli.view_server import server
from dualwm.records import read_outcomes
from dualwm.report.episodes import link
from dualwm.report.write import read_material, write_report
from tools.browser import browser, missing, opened
from tools.results import LABELS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "tworoom"
NAMES = ("dual-wm", "low-only", "noop", "oracle")
OFFSETS = (25, 50, 100)
WINDOW = {"width": 1180, "height": 860}
GAP = 6
"""Pixels between bands that do not follow each other on the page."""
FIRST_TASKS = 40
STEP_SHARE = 0.45
"""Of the episode that is over when its picture is taken."""


def band(page: Any, top: float, bottom: float) -> Image.Image:
    """The whole width of the page between two heights."""
    clip = {"x": 0, "y": top, "width": WINDOW["width"], "height": bottom - top}
    return opened_png(page.screenshot(clip=clip, full_page=True))


def opened_png(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures side by side, as wide as the page."""
    whole = Image.new("RGB", (WINDOW["width"], max(one.height for one in pictures) + 24), "#ffffff")
    for i, one in enumerate(pictures):
        whole.paste(one, (i * WINDOW["width"] // len(pictures) + 24, 12))
    return whole


def save(bands: Sequence[Image.Image], path: Path) -> None:
    """Bands one under the other, as a small PNG."""
    picture = Image.new("RGB", (bands[0].width, sum(one.height + GAP for one in bands) - GAP), "#c9c6bf")
    top = 0
    for one in bands:
        picture.paste(one, (0, top))
        top += one.height + GAP
    picture.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def picture_report(running: Any, out: Path) -> None:
    """From the success tables to the charts."""
    folders = [RESULTS / f"heldout-{offset}" / name for offset in OFFSETS for name in NAMES]
    with tempfile.TemporaryDirectory() as home:
        material = read_material(folders, Path(home), order=["tworoom"], labels=LABELS)
        write_report(material, Path(home))
        with opened(running, (Path(home) / "report.html").as_uri(), viewport=WINDOW) as (page, complaints):
            assert not complaints, complaints
            table = page.locator(".beside table").first.bounding_box()
            charts = page.locator("figure")
            wanted = [opened_png(charts.nth(i).screenshot()) for i in (0, charts.count() - 1)]
            save([band(page, 0, table["y"] + table["height"] + 8), beside(wanted)], out / "report.png")


def picture_viewer(running: Any, out: Path) -> None:
    """One episode in the middle of its way."""
    run = RESULTS / "heldout-100" / "dual-wm"
    solved = [o for o in read_outcomes(run / "outcomes.jsonl") if o.success and o.task < FIRST_TASKS]
    chosen = max(solved, key=lambda o: o.facts["path_px"])
    key = (chosen.system, chosen.goal_offset_env_steps, chosen.seed, chosen.task)
    with server(Viewer(run).page) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        with opened(running, f"http://127.0.0.1:{serving.server_port}{link(key)}", viewport=WINDOW) as (
            page,
            complaints,
        ):
            page.wait_for_function("sheets.every(sheet => sheet.complete)")
            page.locator("#slider").fill(str(int(STEP_SHARE * chosen.steps)))
            assert not complaints, complaints
            page.locator("#slider").blur()
            card = page.locator("#walk").bounding_box()
            save([band(page, 0, card["y"] + card["height"] + 16)], out / "viewer.png")
        serving.shutdown()


def main() -> int:
    """Both, or the reason why not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="folder to write into")
    args = parser.parse_args()
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    with browser() as running:
        picture_report(running, args.out)
        picture_viewer(running, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
