"""The laws of worlds: those we ship and the example obey them, and every law notices the world that breaks it."""

import itertools
import json
import re
from pathlib import Path

import lake
import numpy as np
import pytest
from lake import Lake
from needs import require

from dualwm.cli.check_world import Args, run
from dualwm.envs import get_world, world_names
from dualwm.envs.conform import FIRST, LAWS, check_world
from dualwm.errors import WorldError

FILE = Path(lake.__file__)
"""The example world."""
PAGE = FILE.parents[1] / "docs" / "worlds" / "your-own.md"


@pytest.mark.parametrize("name", world_names())
def test_every_world_obeys_every_law(name):
    require(name)
    found = {verdict.law: verdict.complaints for verdict in check_world(get_world(name))}
    assert found == {law: () for law in ("members", *(law for law, _ in (*FIRST, *LAWS)))}


def test_the_example_obeys_every_law(capsys):
    assert run(Args(world=str(FILE))) == 0
    assert capsys.readouterr().out.rstrip().splitlines()[-1].startswith("All laws hold. Next: dualwm data collect")
    assert run(Args(world=str(FILE), json=True)) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


@pytest.mark.skipif(not PAGE.exists(), reason="reads the documentation: run it in a checkout")
def test_the_documentation_shows_the_example_and_it_has_forty_lines():
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert FILE.read_text(encoding="utf-8").endswith(f'"""\n\n{shown}')
    assert len([line for line in shown.splitlines() if line.strip()]) <= 40


# Worlds that break one law each


def hidden_velocity(base):
    class Hidden(base):
        def simulate(self, starts, seeds, variant="calm"):
            simulation, momentum = base.simulate(self, starts, seeds, variant), np.zeros((len(starts), 2))
            step = simulation.step

            def heavy(actions):
                momentum[:] = 0.5 * momentum + actions
                return step(np.clip(momentum, -1, 1))

            simulation.step = heavy
            return simulation

    return Hidden


def rounded_start(base):
    class Rounded(base):
        def simulate(self, starts, seeds, variant="calm"):
            return base.simulate(self, np.round(starts, 2), seeds, variant)

    return Rounded


def changes_in_place(base):
    class InPlace(base):
        def simulate(self, starts, seeds, variant="calm"):
            simulation = base.simulate(self, starts, seeds, variant)
            law = simulation._law

            def moved(states, actions):
                states[:] = law(states, actions)
                return states

            simulation._law = moved
            return simulation

    return InPlace


def neighbourly(base):
    class Neighbours(base):
        def simulate(self, starts, seeds, variant="calm"):
            simulation = base.simulate(self, starts, seeds, variant)
            law = simulation._law
            simulation._law = lambda states, actions: law(states, actions) + 1e-6 * (states.mean(axis=0) - states)
            return simulation

    return Neighbours


def noisy_motion(base):
    noise = np.random.default_rng(0)

    class Noisy(base):
        def simulate(self, starts, seeds, variant="calm"):
            simulation = base.simulate(self, starts, seeds, variant)
            law = simulation._law
            simulation._law = lambda states, actions: law(states, actions) + 1e-9 * noise.normal(size=states.shape)
            return simulation

    return Noisy


def unclamped(base):
    class Unclamped(base):
        def simulate(self, starts, seeds, variant="calm"):
            simulation = base.simulate(self, starts, seeds, variant)

            def step(actions):
                simulation._states = simulation._law(simulation._states, np.nan_to_num(actions))
                return simulation._states

            simulation.step = step
            return simulation

    return Unclamped


def edited(change):
    """A lake whose recorded episodes are changed by a function of (episode, seed)."""

    def make(base):
        class Edited(base):
            def episode(self, seed, max_env_steps=200):
                episode = base.episode(self, seed, max_env_steps)
                return change(episode, seed, max_env_steps) or episode

        return Edited

    return make


def with_members(**members):
    return lambda base: type("Other", (base,), members)


def late_actions(episode, seed, steps):
    episode["action"] = np.roll(episode["action"][:-1], 1, axis=0)
    episode["action"] = np.concatenate([episode["action"], np.full((1, 2), np.nan, np.float32)])


def unseeded(episode, seed, steps):
    episode["place"][-1] = np.random.random(2)
    episode["proprio"][-1] = episode["place"][-1].astype(np.float32)


def half_proprio(episode, seed, steps):
    episode["proprio"] /= 2


counter = itertools.count()


def drawn_with_a_memory(self, states, size, camera="above"):
    return np.full((len(states), size, size, 3), next(counter) % 256, np.uint8)


BROKEN = [
    (with_members(cameras=["above"]), "declared values", "`cameras` should be a tuple"),
    (with_members(action_low=1.0), "declared values", "`action_low` should lie below"),
    (with_members(discrete=True), "declared values", "bounds are 0 and 1"),
    (with_members(behaviour_law={"law": np.zeros(1)}), "declared values", "plain data"),
    (with_members(state_width=3), "columns", r"should be 3 numbers wide .* found 2"),
    (with_members(name="pond"), "columns", "drawn by 'lake'"),
    (
        edited(lambda e, seed, steps: {**e, "place": e["place"].astype(np.float32)}),
        "episodes are as declared",
        "float64",
    ),
    (edited(lambda e, seed, steps: e.pop("proprio") is None), "episodes are as declared", "should store the columns"),
    (edited(half_proprio), "episodes are as declared", "other numbers in evaluation"),
    (edited(unseeded), "episodes are functions of their seeds", "global random generator"),
    (
        edited(lambda e, seed, steps: e["place"].__setitem__(0, steps)),
        "episodes are functions of their seeds",
        "beginning",
    ),
    (
        lambda base: edited(lambda e, seed, steps: base().episode(3, steps))(base),
        "episodes are functions",
        "not use its seed",
    ),
    (edited(lambda e, seed, steps: e["action"].__setitem__(-1, 0)), "recorded actions", "should be NaN"),
    (edited(lambda e, seed, steps: e["action"].__setitem__(2, 3)), "recorded actions", "outside the world's bounds"),
    (rounded_start, "a state can be set exactly", r"should equal them exactly: number \d of row"),
    (hidden_velocity, "a state can be set exactly", "missing from the state"),
    (changes_in_place, "a state can be set exactly", "Make a new array"),
    (edited(late_actions), "recorded actions lead where they led", "action taken from each row"),
    (noisy_motion, "stepping is deterministic", "come from its `seeds`"),
    (neighbourly, "simulators do not touch each other", "alone than among others"),
    (unclamped, "action bounds", "outside the bounds and did something else"),
    (unclamped, "action bounds", "NaN was accepted"),
    (with_members(draw=drawn_with_a_memory), "pictures", "differently a second time"),
    (with_members(draw=lambda self, s, size, camera="above": np.zeros((len(s), size, size, 3))), "pictures", "float64"),
    (
        with_members(draw=lambda self, s, size, camera="above": np.zeros((len(s), size, size, 3), np.uint8)),
        "pictures",
        "tell start from goal",
    ),
    (
        with_members(success=lambda self, s, g, rule="moored": (np.ones(len(s), bool), np.zeros(len(s)))),
        "success",
        "it tells nothing",
    ),
    (
        with_members(success=lambda self, s, g, rule="moored": (s[:, 0] == g[:, 0], np.hypot(*(s - g + 1).T))),
        "success",
        "reached itself at distance 0",
    ),
    (
        with_members(success=lambda self, s, g, rule="moored": (s[:, 0] > g[:, 0] - 0.1, np.hypot(*(s - g).T))),
        "success is symmetric",
        r"one_way_rules = \('moored',\)",
    ),
    (with_members(expert_action=lambda self, s, g: g - s + 5), "what is optional", "`expert_action"),
    (with_members(planar=lambda self, s: s * 100), "what is optional", "shares of its width"),
    (with_members(facts=lambda self, s, g: {"far": 1}), "what is optional", "words to floats"),
]


@pytest.mark.parametrize(("make", "law", "words"), BROKEN, ids=[f"{law}: {words[:30]}" for _, law, words in BROKEN])
def test_a_broken_promise_is_named_in_words(make, law, words):
    verdicts = {verdict.law: " ".join(verdict.complaints) for verdict in check_world(make(Lake)())}
    (said,) = [complaints for name, complaints in verdicts.items() if name.startswith(law)][:1]
    assert re.search(words, said), verdicts


def test_a_one_way_rule_may_say_so():
    def success(self, states, goals, rule="moored"):
        distance = np.maximum(goals[:, 0] - states[:, 0], 0)
        return distance < 0.05, distance

    world = type("OneWay", (Lake,), {"success": success, "one_way_rules": ("moored",)})()
    assert all(verdict.ok for verdict in check_world(world))


def test_a_rule_that_wants_rest_may_say_so_and_must():
    """A lake on which boats near the left shore drift, and a rule that asks for a boat that does not."""

    def success(self, states, goals, rule="moored"):
        distance = np.maximum(np.hypot(*(states - goals).T), np.where(states[:, 0] < 0.5, 0.1, 0.0))
        return distance < 0.05, distance

    silent = type("Silent", (Lake,), {"success": success, "one_way_rules": ("moored",)})
    (verdict,) = [verdict for verdict in check_world(silent()) if verdict.law == "success"]
    assert "have not" in verdict.complaints[0]
    assert "`resting_rules = ('moored',)`" in verdict.complaints[0]
    assert all(verdict.ok for verdict in check_world(type("Said", (silent,), {"resting_rules": ("moored",)})()))


def test_what_is_missing_is_listed_before_anything_is_tried(tmp_path, capsys):
    file = tmp_path / "half.py"
    file.write_text("class Half:\n    name = 'half'\n\n\nWORLD = Half()\n")
    assert run(Args(world=str(file))) == 1
    said = capsys.readouterr().out
    assert "BAD members" in said
    assert "`simulate`" in said
    assert "1 of 1 laws are broken" in said
    with pytest.raises(WorldError, match=r"half\.py.*it gave a Half, which lacks action_dim.*Complete it"):
        get_world(str(file))


def test_an_exception_inside_a_world_is_a_finding_with_its_place(tmp_path, capsys):
    file = tmp_path / "lake.py"
    file.write_text(FILE.read_text().replace("distance = np.hypot(*(states - goals).T)", "distance = 1 / 0"))
    assert run(Args(world=str(file))) == 1
    said = capsys.readouterr().out
    assert "BAD success" in said
    assert "ZeroDivisionError" in said
    assert "lake.py:" in said
    assert "ok  pictures" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "End the file with a line such as `WORLD = MyWorld"),
        ("import no_such_module\n", r"ModuleNotFoundError.*at mine\.py:1.*`python .*mine\.py`"),
        ("def (:\n", "SyntaxError: invalid syntax, line 1"),
    ],
)
def test_a_file_that_defines_no_world_is_answered_with_what_to_do(tmp_path, text, words):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(WorldError, match=words):
        get_world(str(file))
    with pytest.raises(WorldError, match="no such file"):
        get_world(str(tmp_path / "other.py"))


def test_a_file_that_was_mended_is_read_again(tmp_path):
    file = tmp_path / "lake.py"
    for rule in ("moored", "near"):
        file.write_text(FILE.read_text().replace('"moored"', f'"{rule}"'))
        assert get_world(str(file)).rules == (rule,)
