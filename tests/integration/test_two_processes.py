"""Two processes with half batches are one process with the whole batch."""

import pytest
from safetensors.numpy import load_file
from train_toy import Server, metrics

CANCELLED = {f"gradient/low.{name}.bias" for name in ("P_L.core.norm", "P_L.head.up", "E_L.projector.up")}
"""What only shifts the rows of a BatchNorm: it takes their mean away again."""


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module", params=["gradients", "joint_step:gradients"], ids=["toy", "dual_wm"])
def one_step(request, server, tmp_path_factory):
    out = tmp_path_factory.mktemp("gradients")
    for world in (1, 2):
        assert server.together(request.param, out / str(world), world) == [0] * world
    alone = load_file(out / "1" / "0.safetensors")
    return alone, [load_file(out / "2" / f"{rank}.safetensors") for rank in (0, 1)]


def test_two_processes_give_the_loss_gradients_and_statistics_of_one(one_step):
    alone, together = one_step
    assert {name.split("/")[0] for name in alone} == {"gradient", "buffer", "loss", "term"}
    for rank in together:
        assert rank.keys() == alone.keys()
        for name, value in alone.items():
            assert abs(rank[name] - value).max() < 1e-6, name


def test_the_gradients_compared_are_not_trivial(one_step):
    largest = {name: abs(value).max() for name, value in one_step[0].items() if name.startswith("gradient")}
    assert {name for name, value in largest.items() if value < 5e-5} <= CANCELLED
    assert max(largest.values()) > 0.1


def test_a_whole_run_on_two_processes_ends_where_one_process_ends(server, tmp_path):
    for world in (1, 2):
        assert server.together("train_together", tmp_path / str(world), world) == [0] * world
    one, two = metrics(tmp_path / "1", "heldout"), metrics(tmp_path / "2", "heldout")
    assert [line["step"] for line in one] == [line["step"] for line in two]
    for a, b in zip(one, two, strict=True):
        assert b["loss"] == pytest.approx(a["loss"], rel=1e-5)
        for level, spread in a["spread"].items():
            assert b["spread"][level] == pytest.approx(spread, rel=1e-5)
    last = "checkpoints/02-0000000000.safetensors"
    weights = [load_file(tmp_path / world / last) for world in ("1", "2")]
    for name, value in weights[0].items():
        assert abs(weights[1][name] - value).max() < 1e-5, name


def test_a_run_of_two_processes_is_finished_for_one_as_well(server, tmp_path):
    assert server.together("train_together", tmp_path, 2) == [0, 0]
    before = (tmp_path / "metrics.jsonl").read_bytes()
    assert server.train(tmp_path) == 0
    assert (tmp_path / "metrics.jsonl").read_bytes() == before
