import json

import pytest
import torch

from dualwm.errors import SystemFolderError
from dualwm.train.checkpoint import FORMAT, Checkpoints, Position


@pytest.fixture
def warnings():
    return []


def save(checkpoints, *positions):
    for stage, step in positions:
        checkpoints.save(Position(stage, step), {"w": torch.full((4,), float(step))}, {"samples": 10 + step})


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path, warnings):
    checkpoints = Checkpoints(tmp_path)
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.randn(6).bfloat16(), "d": torch.tensor(2.0)}
    checkpoints.save(Position(1, 20), tensors, {"samples": 7, "clocks": {"low": {"seconds": 1.5}}})
    saved = checkpoints.newest(warnings.append)
    assert saved.position == Position(1, 20)
    assert saved.facts["clocks"] == {"low": {"seconds": 1.5}}
    assert all(torch.equal(saved.tensors[name], tensor) for name, tensor in tensors.items())
    assert not warnings


def test_views_and_transposes_are_saved_as_what_they_show(tmp_path, warnings):
    base = torch.arange(12.0)
    tensors = {"view": base[2:5], "transposed": base.view(3, 4).T, "whole": base, "wide": base[:1].expand(3)}
    Checkpoints(tmp_path).save(Position(0, 1), tensors, {})
    saved = Checkpoints(tmp_path).newest(warnings.append)
    assert all(torch.equal(saved.tensors[name], tensor) for name, tensor in tensors.items())


def test_the_newest_two_are_kept(tmp_path, warnings):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, (0, 5), (0, 10), (1, 0), (1, 5))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"01-000000000{step}.{end}" for step in (0, 5) for end in ("json", "safetensors")
    ]
    assert checkpoints.newest(warnings.append).position == Position(1, 5)


def test_an_empty_folder_has_no_checkpoint(tmp_path, warnings):
    assert Checkpoints(tmp_path / "nothing").newest(warnings.append) is None


def flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: flip(folder / "00-0000000010.safetensors"),
        lambda folder: (folder / "00-0000000010.safetensors").write_bytes(b""),
        lambda folder: (folder / "00-0000000010.safetensors").unlink(),
        lambda folder: (folder / "00-0000000010.json").write_text("{"),
        lambda folder: (folder / "00-0000000010.json").write_text("[]"),
        lambda folder: (folder / "00-0000000010.json").write_bytes(b"\xff\xfe"),
        lambda folder: (folder / "00-0000000010.json").write_text(
            (folder / "00-0000000010.json").read_text().replace('"samples": 20', '"samples": 21')
        ),
    ],
)
def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before_with_a_warning(tmp_path, warnings, damage):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, (0, 5), (0, 10))
    damage(tmp_path)
    saved = checkpoints.newest(warnings.append)
    assert saved.position == Position(0, 5)
    assert torch.equal(saved.tensors["w"], torch.full((4,), 5.0))
    assert len(warnings) == 1
    assert "damaged" in warnings[0]
    assert "00-0000000010" in warnings[0]
    # What was set aside does not count among the two that are kept.
    save(checkpoints, (0, 15))
    flip(tmp_path / "00-0000000015.safetensors")
    assert checkpoints.newest(warnings.append).position == Position(0, 5)


def test_a_run_without_a_whole_checkpoint_is_not_begun_anew_in_silence(tmp_path, warnings):
    save(Checkpoints(tmp_path), (0, 5))
    flip(tmp_path / "00-0000000005.safetensors")
    with pytest.raises(SystemFolderError, match=r"None of the checkpoints .* whole: 00-0000000005"):
        Checkpoints(tmp_path).newest(warnings.append)


def test_a_newer_format_is_named(tmp_path):
    save(Checkpoints(tmp_path), (0, 5))
    path = tmp_path / "00-0000000005.json"
    from dualwm.train.checkpoint import _canonical, _text_digest

    facts = json.loads(path.read_text())["facts"] | {"format": FORMAT + 1}
    path.write_text(json.dumps({"facts": facts, "facts_sha256": _text_digest(_canonical(facts))}))
    with pytest.raises(SystemFolderError, match=f"format {FORMAT + 1}; .* up to {FORMAT}"):
        Checkpoints(tmp_path).load("00-0000000005")


def test_others_may_read_a_checkpoint_if_they_may_read_the_folder(tmp_path):
    folder = tmp_path / "checkpoints"
    save(Checkpoints(folder), (0, 5))
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {folder.stat().st_mode & 0o666}
