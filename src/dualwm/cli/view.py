"""`dualwm view`: the episodes of a run, each decision by decision, in a browser on this machine."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tyro.conf import Positional

from dualwm.errors import RecipeError

if TYPE_CHECKING:
    from dualwm.cli.demo_story import Encoder
    from dualwm.evaluate.needs import Controller
    from dualwm.evaluate.outcomes import RunFolder
    from dualwm.plan.controller import ThreeStage
    from dualwm.report.episodes import Key, Listed


FAN = 8
"""Elites of every low-level search that are drawn."""
FRAME_SIDE = 96
"""Pixels of the frames shown."""


@dataclass(frozen=True, kw_only=True)
class Args:
    """Look at the episodes of a run: executed beside imagined frames, the route, costs and distances over time.

    Serves this machine alone (127.0.0.1) until it is interrupted. An episode is run again when it is opened.
    """

    run: Positional[Path]
    """Run folder, as `dualwm eval --out` and `dualwm compare` leave it."""
    failures: bool = False
    """Begin with the failed episodes. `dualwm failures RUN` finds out why they failed; the list then says so."""
    decoder: Path | None = None
    """Show imagined latents as this decoder of `dualwm train-decoder` draws them, not as the nearest real frames."""
    port: int = 0
    """Port on 127.0.0.1; any that is free by default."""
    json: bool = False
    """Print one JSON object with the address."""


def run(args: Args) -> int:
    """Serve until interrupted."""
    from dualwm.cli.view_server import HOST, server

    viewer = Viewer(args.run, failures=args.failures, decoder=args.decoder)
    with server(viewer.page, args.port) as serving:
        address = f"http://{HOST}:{serving.server_port}/"
        told = json.dumps({"address": address}) if args.json else f"{address}  (Ctrl-C ends)"
        print(told, flush=True)
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return 0


class Viewer:
    """The pages of one run folder."""

    def __init__(self, path: Path, failures: bool = False, decoder: Path | None = None) -> None:
        """Read what there is to list; floors plan nothing, so there is nothing to look at."""
        from dualwm.evaluate.outcomes import RunFolder

        self._folder: RunFolder = RunFolder.find(path)
        self._failures, self._decoder = failures, decoder
        self._episodes: dict[Key, str] = {}
        self._listed = {one.key: one for one in _listed(self._folder)}
        if not self._listed:
            raise RecipeError(f"{path} holds no episode of a system that plans. Name the run of one.")

    def page(self, path: str, words: dict[str, str]) -> str | None:
        """The list, or one episode. What is learnt of an episode by running it again enters the list."""
        from dualwm.report.episodes import episodes_page

        if path == "/":
            return episodes_page(str(self._folder.path), list(self._listed.values()), self._failures)
        key = _key(words)
        if path != "/episode" or key not in self._listed:
            return None
        if key not in self._episodes:
            listed = self._listed[key]
            self._episodes[key], stage = _episode(self._folder, listed, self._decoder)
            self._listed[key] = replace(listed, stage=stage)
        return self._episodes[key]


def _key(words: dict[str, str]) -> "Key | None":
    try:
        return words["system"], int(words["offset"]), int(words["seed"]), int(words["task"])
    except (KeyError, ValueError):
        return None


def _listed(folder: "RunFolder") -> "list[Listed]":
    from dualwm.records import NO_WEIGHTS
    from dualwm.report.episodes import Listed
    from dualwm.zoo.failing import read_labels

    known = read_labels(folder.path)
    planned = [o for o in folder.finished() if o.weights_digest != NO_WEIGHTS]
    keys = [(o.system, o.goal_offset_env_steps, o.seed, o.task) for o in planned]
    found = [known.get(key, ("", "")) for key in keys]
    return [Listed(outcome=o, label=label, stage=stage) for o, (label, stage) in zip(planned, found, strict=True)]


def _episode(folder: "RunFolder", listed: "Listed", decoder: "Path | None") -> "tuple[str, str]":
    """Run the task again, keeping what was thought; its page, and the stage its last decision was in."""
    from dualwm.cli.demo_story import tell
    from dualwm.cli.scene import scene_of
    from dualwm.evaluate.closed_loop import run as run_tasks
    from dualwm.report.page import page
    from dualwm.zoo.decoding import Decoder
    from dualwm.zoo.evaluation import Spec, check_weights, system_of

    outcome = listed.outcome
    spec = Spec.parse(outcome.system)
    system = system_of(spec)
    check_weights(outcome, system.weights_digest)
    taskset = folder.taskset(outcome.taskset_digest)
    controller = seeing(system.controller(spec.variant, outcome.goal_offset_env_steps, **spec.overrides))
    again = run_tasks(
        system.world,
        controller,
        taskset,
        size=system.image_size,
        variant=str(folder.command.get("variant") or system.world.variants[0]),
        system=outcome.system,
        weights_digest=system.weights_digest,
        settings_digest=outcome.settings_digest,
        only=[outcome.task],
        keep_traces=True,
        keep_paths=True,
    )
    story = tell(
        # A cast, because pyright does not look through cached properties when it compares with a protocol.
        cast("Encoder", system),
        scene_of(system.world, taskset.rule),
        taskset,
        {"full": again},
        labels={"full": outcome.system},
        env_steps_per_prediction=controller.actions.frame_skip,
        facts=_facts(listed, again.outcomes == [outcome]),
        side=FRAME_SIDE,
        decoder=None if decoder is None else Decoder.load(decoder, system.weights_digest),
        title=f"{outcome.world}: task {outcome.task} of seed {outcome.seed}",
        intro=_intro(listed),
        back="/",
    )
    return page(story), story.tasks[0].walks[0].thoughts[-1].stage


def seeing(controller: "Controller") -> "ThreeStage":
    """The controller as it is, its trace keeping the fan of elites."""
    from dualwm.plan.controller import ThreeStage

    if not isinstance(controller, ThreeStage):
        raise RecipeError(
            f"The viewer shows the three stages of section 3.4, and a {type(controller).__name__} plans otherwise. "
            "Name the run of a Dual-WM or LeWM system."
        )
    return replace(controller, fan=FAN)


def _intro(listed: "Listed") -> str:
    o = listed.outcome
    ended = f"reached its goal at step {o.steps}" if o.success else f"did not reach its goal in {o.steps} steps"
    why = f" ({listed.label})" if listed.label else ""
    return (
        f"{o.system} {ended}{why}; goal offset {o.goal_offset_env_steps} and budget {o.budget_env_steps} environment "
        f"steps, protocol {o.protocol}, rule {o.rule}. Beside every real frame stands what was imagined."
    )


def _facts(listed: "Listed", same: bool) -> dict[str, str]:
    o = listed.outcome
    return {
        "system": f"{o.system}, weights {o.weights_digest}",
        "task": f"{o.task} of seed {o.seed}, offset {o.goal_offset_env_steps}, protocol {o.protocol}, rule {o.rule}, "
        f"TaskSet {o.taskset_digest}",
        **{name: f"{value:.4g}" for name, value in sorted(o.facts.items())},
        "why it failed": listed.label or ("it did not" if o.success else "not labelled yet: dualwm failures"),
        "run again": "as it was recorded" if same else "otherwise than it was recorded",
    }
