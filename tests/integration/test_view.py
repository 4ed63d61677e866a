"""`dualwm view`: the list of a run's episodes and the page of each, for this machine alone."""

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import viewed_run

from dualwm.cli.main import main
from dualwm.cli.view import Viewer
from dualwm.cli.view_server import server
from dualwm.errors import RecipeError
from dualwm.records import read_outcomes


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with viewed_run.compared(tmp_path_factory.mktemp("home")) as run:
        yield run


@pytest.fixture
def port(run: Path) -> Iterator[int]:
    with server(Viewer(run, failures=True).page) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving.server_port
        serving.shutdown()


def get(port: int, path: str, host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_every_episode_of_a_system_that_plans_is_listed_with_what_it_can_be_filtered_by(port: int, run: Path):
    status, text = get(port, "/")
    assert status == 200
    rows = re.findall(r'<tr data-outcome="(\w+)" data-label="([^"]*)" data-stage="\w*" data-system="([^"]*)"', text)
    planned = [o for o in read_outcomes(run / "outcomes.jsonl") if o.system.startswith("toy")]
    assert [(outcome == "solved", system) for outcome, _, system in rows] == [(o.success, o.system) for o in planned]
    assert sum(label == "mis-ranked" for _, label, _ in rows) == 1
    assert '<option value="failed" selected>' in text
    assert not re.findall(r"\b(?:src|href)=\"(?!/episode\?)", text)


def test_an_episode_is_told_decision_by_decision(port: int):
    links = re.findall(r'href="(/episode[^"]*)"', get(port, "/")[1])
    assert len(links) == 6
    for link in (links[0], links[-1]):
        status, text = get(port, link.replace("&amp;", "&"))
        assert status == 200
        story = json.loads(re.findall(r'<script type="application/json" id="story">(.*?)</script>', text, re.S)[0])
        ((walk,),) = (task["walks"] for task in story["tasks"])
        assert walk["thoughts"]
        assert "as it was recorded" in text


def test_what_is_not_there_is_not_found_and_other_hosts_are_refused(port: int):
    strange = ("", "?system=toy&offset=25&seed=0&task=99", "?system=toy&offset=x&seed=0&task=0")
    for path in ("/nothing", *(f"/episode{words}" for words in strange)):
        assert get(port, path)[0] == 404
    assert get(port, "/", host="example.org")[0] == 403
    assert get(port, "/", host=f"localhost:{port}")[0] == 200


def test_a_run_of_floors_alone_has_nothing_to_look_at(run: Path):
    words = ["--offset", "25", "--seeds", "0", "--num-tasks", "2", "--json"]
    assert main(["eval", "noop", *words, "--out", "floors"]) == 0
    with pytest.raises(RecipeError, match="no episode of a system that plans"):
        Viewer(Path("floors"))


def test_the_command_says_its_address_and_serves_it(run: Path):
    program = subprocess.Popen(
        [sys.executable, "-m", "dualwm", "view", str(run), "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        address = json.loads(program.stdout.readline())["address"]
        port = int(address.removeprefix("http://127.0.0.1:").rstrip("/"))
        assert get(port, "/")[0] == 200
    finally:
        program.terminate()
        program.wait()
        program.stdout.close()
