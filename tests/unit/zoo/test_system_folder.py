"""A System folder is read back to the bit, and anything wrong with it is one paragraph: file, expectation, remedy."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import zoo_toy
from safetensors.torch import load_file, save_file

from dualwm.errors import RecipeError, SystemFolderError
from dualwm.records import Goal, Observation
from dualwm.registry import to_plain
from dualwm.zoo import System, load
from dualwm.zoo.folder import FILES
from dualwm.zoo.system import Bank


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bank = Bank(np.zeros((3, 2), np.float32), {"low": np.ones((3, 8), np.float32), "high": np.ones((3, 6), np.float32)})
    return zoo_toy.system().save(tmp_path_factory.mktemp("system"), bank)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def decide(system: System) -> list[np.ndarray]:
    """Two decisions for three tasks, with everything recorded of them."""
    places = np.array([[60.0, 60.0], [80.0, 150.0], [160.0, 40.0]])
    controller = system.controller(goal_offset_env_steps=25)
    memory = controller.start(Goal(frames=system.observe(places[::-1]).frames), [0, 1, 2], 7)
    told: list[np.ndarray] = []
    chunk = None
    for shift in (0.0, 3.0):
        seen = system.observe(places + shift)
        chunk, memory, decision = controller.act(memory, Observation(frames=seen.frames, executed=chunk))
        told += [chunk, *map(np.asarray, vars(decision).values())]
    return told


def test_what_is_saved_is_read_back_and_plans_the_same_to_the_bit(saved: Path, tmp_path: Path):
    before, after = zoo_toy.system(), System.load(saved)
    assert after.method == before.method
    assert to_plain(after.method) == to_plain(before.method)
    assert after.weights_digest == before.weights_digest == after.provenance["weights_digest"]
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(decide(before), decide(after), strict=True))
    after.save(tmp_path / "again")
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes(), name


def test_the_bank_comes_back_with_its_states_in_full_and_its_latents_in_half(saved: Path, tmp_path: Path):
    bank = System.load(saved).bank
    assert bank.states.dtype == np.float32
    assert bank.low.shape == (3, 8)
    assert bank.high.shape == (3, 6)
    assert load_file(saved / "bank.safetensors")["low"].dtype == torch.float16
    with pytest.raises(SystemFolderError, match=r"carries no bank of frames"):
        _ = zoo_toy.system().bank


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_with_what_a_folder_holds(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(SystemFolderError, match=name.replace(".", r"\.") + " is missing. A System folder holds"):
        System.load(folder)


def test_truncated_weights_are_refused(folder: Path):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(SystemFolderError, match=r"model\.safetensors should hold tensors .* It may be truncated: copy"):
        System.load(folder)


def rewrite(folder: Path, change) -> None:
    """Change the tensors of a folder's weights."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


NAME = "high.E_A.lift.weight"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop(NAME), rf"tensor '{NAME}' \(float32 \(6, 3\)\) is missing"),
        (
            lambda t: t.update({NAME: torch.zeros(6, 4)}),
            rf"'{NAME}' should be float32 \(6, 3\) and is float32 \(6, 4\)",
        ),
        (lambda t: t.update({NAME: t[NAME].double()}), rf"'{NAME}' should be float32 .* and is float64"),
        (lambda t: t.update({"extra": torch.zeros(1)}), r"a tensor 'extra' that the configuration has no place for"),
        (lambda t: t[NAME].view(-1)[:2].fill_(torch.nan), rf"finite numbers, and tensor '{NAME}' \(6, 3\) has 2 that"),
        (lambda t: t[NAME].view(-1)[:1].fill_(-torch.inf), rf"finite numbers, and tensor '{NAME}' \(6, 3\) has 1 that"),
    ],
    ids=["missing", "shape", "type", "extra", "nan", "infinite"],
)
def test_tensors_that_do_not_fit_the_configuration_are_named(folder: Path, change, says: str):
    rewrite(folder, change)
    with pytest.raises(SystemFolderError, match=says):
        System.load(folder)


def edit(folder: Path, name: str, change) -> None:
    """Change one of a folder's JSON files."""
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("config.json", lambda d: d.update(format=2), r"has format 2; this version of dualwm reads format 1"),
        ("config.json", lambda d: d["method"].update(part="duel_wm"), r"duel_wm.*[Dd]id you mean 'dual_wm'"),
        ("config.json", lambda d: d["method"]["model"].update(widow=3), r"no setting 'widow'.*'window'"),
        ("config.json", lambda d: d["method"]["model"].pop("window"), r"should describe a method"),
        ("config.json", lambda d: d["method"]["model"].update(window="three"), r"should be of type int"),
        ("config.json", lambda d: d.pop("method"), r"should describe a method"),
        ("config.json", lambda d: d["method"]["model"]["low"].update(predictor=None), r"low\.predictor: expected a"),
        ("config.json", lambda d: d["method"]["model"]["low"].update(encoder=None), r"low\.encoder: expected a"),
        ("planner.json", lambda d: d.update(format=2), r"has format 2; this version of dualwm reads format 1"),
        ("planner.json", lambda d: d.pop("offsets"), r"planner settings by goal offset"),
        ("planner.json", lambda d: d["offsets"]["25"].update(low_serch="1/1/1"), r"'low_serch'.*'low_search'"),
        ("planner.json", lambda d: d["offsets"]["25"].update(low_search="many"), r"candidates/iterations/elites"),
        ("planner.json", lambda d: d.update(variants=["paper"]), r"what each named variant changes"),
        ("planner.json", lambda d: d.update(variants={"paper": {"low_serch": 1}}), r"variant paper.*'low_search'"),
        ("task.json", lambda d: d.pop("rule"), r"task\.json lacks 'rule'"),
        ("task.json", lambda d: d.update(image_size="large"), r"should hold numbers for image_size"),
        ("task.json", lambda d: d.update(action_dim=0), r"of at least 1, and has 0"),
        ("task.json", lambda d: d.update(action_dim=3), r"action_dim=3, and config\.json describes .* of width 2"),
        ("task.json", lambda d: d.update(action_low=[-1, -1, -1]), r"each of action_dim=2, and has 3 numbers"),
        ("task.json", lambda d: d.update(action_high=[1, -2]), r"finite action_low no higher than action_high"),
        ("task.json", lambda d: d.update(discrete_values="five"), r"discrete_values of null, or .*=2.*'five'"),
        ("task.json", lambda d: d.update(world="towroom"), r"the world 'towroom', which is not .*'tworoom'"),
        ("task.json", lambda d: d.update(action_column="keys"), r"normalizer\.json should scale .* column 'keys'"),
        ("normalizer.json", lambda d: d.clear(), r"normalizer\.json"),
        ("normalizer.json", lambda d: d["scales"].pop("action"), r"the 2 numbers of column 'action'.*no such column"),
        ("normalizer.json", lambda d: d["scales"]["action"].update(mean=[0] * 3, std=[1] * 3), r"'action' .* scales 3"),
        ("split.json", lambda d: d.clear(), r"should hold a split \(rule, store_digest, train, heldout\)"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_file_and_remedy(folder: Path, name: str, change, says: str):
    edit(folder, name, change)
    with pytest.raises(SystemFolderError, match=says) as told:
        System.load(folder)
    assert "\n" not in str(told.value)
    assert name in str(told.value)


def test_every_column_of_proprio_needs_its_scale(tmp_path: Path):
    zoo_toy.system(zoo_toy.method(cameras=(zoo_toy.FRONT,))).save(tmp_path)
    with pytest.raises(SystemFolderError, match=r"the 2 numbers of column 'proprio' .* scales no such column"):
        System.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("states"), r"bank\.safetensors should hold 'states' and latents"),
        (lambda t: t.update(low=t["low"][:2]), r"as many rows of each, and holds .*'low': 2"),
        (lambda t: t.pop("low"), r"bank\.safetensors should hold 'low' latents .* and holds \['high'\]"),
    ],
    ids=["no states", "rows", "no latents"],
)
def test_a_bank_that_lacks_something_is_refused(folder: Path, change, says: str):
    tensors = load_file(folder / "bank.safetensors")
    change(tensors)
    save_file({name: x.contiguous() for name, x in tensors.items()}, folder / "bank.safetensors")
    with pytest.raises(SystemFolderError, match=says):
        _ = System.load(folder).bank.low


@pytest.mark.parametrize(
    ("text", "says"), [("{", "should be JSON"), ("[1]", "should hold a JSON object and holds list")]
)
def test_files_that_are_no_json_objects_are_refused(folder: Path, text: str, says: str):
    (folder / "task.json").write_text(text)
    with pytest.raises(SystemFolderError, match=says):
        System.load(folder)


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def test_nothing_is_ever_unpickled(folder: Path, tmp_path: Path):
    mark = tmp_path / "executed"
    pickle.loads(pickle.dumps(Trap(mark)))
    assert mark.exists()
    mark.unlink()
    for name in ("model.safetensors", "config.json"):
        spoiled = Path(shutil.copytree(folder, tmp_path / name))
        (spoiled / name).write_bytes(pickle.dumps(Trap(mark)))
        with pytest.raises(SystemFolderError):
            System.load(spoiled)
    torch.save({"x": Trap(mark)}, folder / "model.safetensors")
    with pytest.raises(SystemFolderError):
        System.load(folder)
    assert not mark.exists()


def test_a_name_that_is_neither_shipped_nor_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(SystemFolderError, match="no shipped system and no folder named 'nowhere'"):
        load("nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(SystemFolderError, match="is not a folder"):
        load(tmp_path / "file")


# Planner settings: the nearest offset, then the variant, then overrides


def test_settings_come_from_the_nearest_offset_the_variant_and_overrides_in_this_order():
    system = zoo_toy.system()
    assert system.settings(goal_offset_env_steps=30).guided_decisions == 2
    assert system.settings(goal_offset_env_steps=90).guided_decisions != 2
    assert system.settings("low-only", 25).guided_decisions == 0
    assert system.settings("low-only", 25, {"guided_decisions": 1}).guided_decisions == 1
    assert str(system.settings("full", 25, {"low_search": "10/3/4"}).low_search) == "10/3/4"


def test_unknown_variants_and_settings_suggest_the_near_one():
    with pytest.raises(RecipeError, match=r"no planner variant 'low_only'.*'low-only'"):
        zoo_toy.system().settings("low_only")
    with pytest.raises(RecipeError, match=r"'guided'.*'guided_decisions'"):
        zoo_toy.system().settings("full", 25, {"guided": 3})
