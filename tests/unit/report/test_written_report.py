"""The report on recorded runs: what is in it is what was recorded, and it needs nothing beside itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from recorded_toy import outcomes_of, save

from dualwm.bootstrap import spread
from dualwm.cli.main import main
from dualwm.records import NO_WEIGHTS, Outcome, Pace, PlanningTime
from dualwm.report.charts import agreement, by_offset, by_time, even_ticks, until_goal
from dualwm.report.latex import escape, latex
from dualwm.report.origin import origin
from dualwm.report.results_page import results_page
from dualwm.report.svg import svg
from dualwm.report.tables import build_tables, read_runs
from dualwm.report.write import read_material, write_report
from dualwm.stats import wilson

OURS = "runs/a_b:search=64/8/8"


def floor(successes: str, offset: int) -> list[Outcome]:
    return [replace(o, weights_digest=NO_WEIGHTS) for o in outcomes_of("random", successes, offset=offset)]


def measured(system: str, offset: int, ms: float) -> PlanningTime:
    pace = Pace(mean_ms=ms, p50_ms=ms - 1, p95_ms=ms + 1)
    return PlanningTime(
        system=system, weights_digest=f"w-{system}", goal_offset_env_steps=offset, together=pace, alone=pace, tasks=20,
        tasks_alone=3, threads=2, precision="bfloat16",
    )  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two systems and a floor at two offsets, in two folders."""
    ours = [*outcomes_of(OURS, "1111 1101", offset=50), *outcomes_of(OURS, "1101 1000", offset=100)]
    low = [*outcomes_of("low", "1110 1100", offset=50), *outcomes_of("low", "1000 0000", offset=100)]
    both = [*ours, *low, *floor("1000 0000", 50)]
    first = save(tmp_path / "first", both, [measured(OURS, 50, 12.5), measured("low", 50, 30.0)])
    settings = {
        "low_search": {"candidates": 64, "iterations": 8, "elites": 8},
        "high_search": {"candidates": 32, "iterations": 4, "elites": 4},
        "guided_decisions": 6,
    }
    facts = {
        "began": "2026-01-01", "command": "dualwm compare --systems x", "commit": "c" * 40,
        "machine": {"platform": "x86_64", "cpu_capability": "AVX2"}, "versions": {"torch": "9.9"},
        "settings": {OURS: {"50": settings}, "low": {"50": {**settings, "guided_decisions": 0}}},
    }  # fmt: skip
    (first / "provenance.json").write_text(json.dumps([facts]))
    return [first, save(tmp_path / "second", floor("0000 0000", 100))]


class Checked(HTMLParser):
    """Every element is closed in order; anchors, links and everything that would be fetched are collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        if tag == "a":
            self.links.append(found["href"] or "")
        elif {"src", "href", "data", "action"} & set(found) or tag in ("script", "link", "iframe", "object"):
            self.fetched.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_fetches_nothing(runs: list[Path], tmp_path: Path):
    text = results_page(read_material(runs, tmp_path / "out", order=[OURS]))
    page = Checked(text)
    assert not page.fetched
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert len(page.ids) == len(set(page.ids))
    anchors = [link for link in page.links if link.startswith("#")]
    assert {link[1:] for link in anchors} == set(page.ids)
    assert set(page.links) - set(anchors) == {"../first/outcomes.jsonl", "../second/outcomes.jsonl"}
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert text == results_page(read_material(runs, tmp_path / "out", order=[OURS]))


def test_every_rate_is_shown_with_its_interval_and_its_origin(runs: list[Path], tmp_path: Path):
    page = Checked(results_page(read_material(runs, tmp_path / "out", order=[OURS]))).text
    low, high = (100 * end for end in wilson(7, 8))
    assert f"87.5 % [{low:.1f}, {high:.1f}]" in page
    assert "dualwm compare --systems x" in page
    assert f"dualwm reproduce {runs[0]} --system {OURS} --offset 100" in page
    assert "torch 9.9, commit cccccccccc" in page
    assert "low 64/8/8, high 32/4/4" in page
    assert "x86_64, AVX2" in page
    assert "12.5 ms per environment step (p50 11.5, p95 13.5)" in page
    assert f"offset 100, {OURS} against random: difference +50.0 points" in page
    # Without guidance nothing is ever searched on the high level.
    assert page.count("high 32/4/4") == 1


def test_names_are_text_and_never_markup(tmp_path: Path):
    run = save(tmp_path / "x", outcomes_of("<script>&", "10 01"))
    material = read_material([run], tmp_path / "out", title="a < b")
    text = results_page(material)
    assert "<script" not in text
    assert "&lt;script&gt;&amp;" in text
    assert "a &lt; b" in text
    Checked(text)


def test_a_report_of_many_systems_and_tasks_stays_small(tmp_path: Path):
    rng = np.random.default_rng(0)
    some = [
        outcome
        for i in range(12)
        for offset in (25, 50, 75, 100)
        for outcome in outcomes_of(
            f"system{i}", " ".join("".join(map(str, rng.integers(0, 2, 200))) for _ in range(3)), offset=offset
        )
    ]
    files = write_report(read_material([save(tmp_path / "x", some)], tmp_path / "out"), tmp_path / "out")
    assert files[0].stat().st_size < 1_000_000


def test_charts_hold_the_rates_their_intervals_and_the_steps(runs: list[Path]):
    recorded = read_runs(runs)
    (table,) = build_tables(recorded, [OURS])
    chart = by_offset(table, {OURS: "Dual-WM"})
    assert [(one.name, one.quiet) for one in chart.series] == [("Dual-WM", False), ("low", False), ("random", True)]
    assert [(p.x, p.y) for p in chart.series[0].points] == [(50, 87.5), (100, 50.0)]
    assert (chart.series[0].points[0].low, chart.series[0].points[0].high) == tuple(100 * e for e in wilson(7, 8))
    timed = by_time(table, 50, {})
    assert [(one.name, [p.x for p in one.points]) for one in timed.series] == [("runs/a_b", [12.5]), ("low", [30.0])]
    steps = until_goal(recorded, table, 100, {}).series[0].points
    # Solved at steps 40, 41 and 43 of seed 0 and 40 of seed 1.
    assert [(p.x, p.y) for p in steps] == [(0, 0), (40, 25), (41, 37.5), (43, 50), (125, 50)]
    shares = agreement(recorded, table, 100)
    assert shares[0][0] == 1.0
    assert shares[0][1] == shares[1][0] == 5 / 8


def test_sizes_of_search_of_one_system_are_joined_in_the_order_of_their_time(tmp_path: Path):
    names = [f"tworoom:search={n}/8/8:high_search={n}/4/4" for n in (64, 128, 32)]
    times = [measured(name, 100, ms) for name, ms in zip(names, (20.0, 40.0, 10.0), strict=True)]
    some = [o for name, flags in zip(names, ("110", "111", "100"), strict=True) for o in outcomes_of(name, flags)]
    (table,) = build_tables(read_runs([save(tmp_path / "x", some, times)]))
    (series,) = by_time(table, 100, {"tworoom": "Dual-WM"}).series
    assert series.name == "Dual-WM"
    assert [p.x for p in series.points] == [10.0, 20.0, 40.0]
    assert [round(p.y) for p in series.points] == [33, 67, 100]


@pytest.mark.parametrize("top", [0.3, 1, 7, 40, 125, 999])
def test_ticks_are_round_and_reach_the_end(top: float):
    ticks = even_ticks(top)
    assert ticks[0] == 0
    assert ticks[-1] >= top > ticks[-2]
    assert 3 <= len(ticks) <= 8


def test_a_drawing_is_well_formed_and_lies_on_its_paper(runs: list[Path]):
    (table,) = build_tables(read_runs(runs), [OURS])
    text = svg(by_offset(table, {}))
    Checked(text)
    for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', text):
        assert 46 <= float(x) <= 508
        assert 12 <= float(y) <= 290
    assert text.count("<circle") == 6


def test_latex_has_methods_down_offsets_across_and_the_spread_of_seeds(runs: list[Path]):
    recorded = read_runs(runs)
    (table,) = build_tables(recorded, [OURS])
    text = latex(recorded, table, {})
    assert text.count("{") == text.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {2}
    assert r"Method & Offset $50$ & Offset $100$ \\" in text
    deviation = 100 * spread([np.ones(4), np.array([1, 1, 0, 1.0])])
    assert rf"\textbf{{87.50}} {{\scriptsize$\pm$ {deviation:.2f}}}" in text
    assert r"\textbf{12.5" not in text
    assert r"runs/a\_b:search=64/8/8" in text
    assert escape(r"50 % & \x_y") == r"50 \% \& \textbackslash{}x\_y"
    assert "[" not in "".join(latex(recorded, table, {}, intervals=False).splitlines()[5:])


def test_an_older_folder_without_provenance_says_so(runs: list[Path], tmp_path: Path):
    found = origin(runs[1])
    assert (found.command, found.device, found.search("random", 100)) == ("", None, None)
    assert "not recorded" in Checked(results_page(read_material(runs[1:], tmp_path / "out"))).text


def test_the_verb_writes_page_markdown_and_latex(runs: list[Path], tmp_path: Path, capsys):
    words = ["report", *map(str, runs), "--out", str(tmp_path / "out"), "--first", OURS, "--labels", f"{OURS}=Dual-WM"]
    assert main(words) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["report.html", "report.md", "tworoom-heldout-reach16.tex"]
    text = (tmp_path / "out/report.md").read_text()
    assert "| Dual-WM | 87.5 %" in text
    assert "| protocol card | offset 50 | offset 100 |" in text
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["world"] == "tworoom"


def test_several_worlds_are_summed_up_in_the_papers_layout(tmp_path: Path):
    some = [
        *outcomes_of("a", "1111 1110", world="rooms"),
        *outcomes_of("lewm-a", "1100 1100", world="rooms"),
        *outcomes_of("b", "1111 1111", world="boxes"),
        *outcomes_of("lewm-b", "1000 0000", world="boxes"),
        *outcomes_of("b", "1111 1111", world="boxes", offset=50),
        *outcomes_of("lewm-b", "0000 0000", world="boxes", offset=50),
    ]
    labels = {"a": "Dual-WM", "b": "Dual-WM", "lewm-a": "LeWM", "lewm-b": "LeWM"}
    material = read_material([save(tmp_path / "x", some)], tmp_path, order=["a"], labels=labels)
    write_report(material, tmp_path / "out")
    text = (tmp_path / "out/report.md").read_text()
    assert text.startswith("| world | best other, offset 100 | ours, offset 100 |")
    assert "| boxes | 12.5 % (LeWM) | 100.0 % |" in text
    assert "| mean | 31.2 % | 93.8 % (+62.5 points, " in text
    assert r"mean & 31.2 \% & 93.8 \% (+62.5 points" in (tmp_path / "out/over-worlds-heldout.tex").read_text()
    assert "Over 2 worlds" in Checked((tmp_path / "out/report.html").read_text()).text
    assert read_material([tmp_path / "x"], tmp_path, order=["lewm-a"]).summaries == ()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--first", "nobody"], "not ['nobody']"),
        (["--labels", "low"], "SYSTEM=LABEL"),
    ],
)
def test_mistakes_are_told(runs: list[Path], tmp_path: Path, capsys, words: list[str], says: str):
    assert main(["report", str(runs[0]), "--out", str(tmp_path / "out"), *words]) == 2
    assert says in capsys.readouterr().err


def test_runs_on_different_tasks_are_refused_by_name(runs: list[Path], tmp_path: Path, capsys):
    other = save(tmp_path / "other", outcomes_of("third", "11 11 11", offset=50))
    assert main(["report", *map(str, [*runs, other]), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "different tasks never share a table" in error
    assert "third" in error
    assert not (tmp_path / "out").exists()


def test_vector_figures_are_the_same_whenever_they_are_drawn(runs: list[Path], tmp_path: Path):
    pytest.importorskip("matplotlib")
    material = read_material(runs, tmp_path)
    once, again = (write_report(material, tmp_path / name, figures=True) for name in ("once", "again"))
    figures = [file for file in once if file.suffix in (".pdf", ".svg")]
    assert len(figures) == 2 * 4
    for one, two in zip(once, again, strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_without_matplotlib_the_extra_is_named(runs: list[Path], tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert main(["report", *map(str, runs), "--out", str(tmp_path / "out"), "--figures"]) == 2
    assert "[plots]'" in capsys.readouterr().err
