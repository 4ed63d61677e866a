"""`dualwm view`: the episodes of a run, each decision by decision, in a browser on this machine."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tyro.conf import Positional

from dualwm.errors import RecipeError

if TYPE_CHECKING:
    from dualwm.cli.demo_story import Encoder
    from dualwm.evaluate.outcomes import RunFolder
    from dualwm.report.episodes import Key, Listed


@dataclass(frozen=True, kw_only=True)
class Args:
    """Look at the episodes of a run: executed beside imagined frames, the route, costs and distances over time.

    Serves this machine alone (127.0.0.1) until it is interrupted. An episode is run again when it is opened.
    """

    run: Positional[Path]
    """Run folder, as `dualwm eval --out` and `dualwm compare` leave it."""
    failures: bool = False
    """Begin with the failed episodes. `dualwm failures RUN` finds out why they failed; the list then says so."""
    port: int = 0
    """Port on 127.0.0.1; any that is free by default."""
    json: bool = False
    """Print one JSON object with the address."""


def run(args: Args) -> int:
    """Serve until interrupted."""
    from dualwm.cli.view_server import HOST, server

    viewer = Viewer(args.run, failures=args.failures)
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

    def __init__(self, path: Path, failures: bool = False) -> None:
        """Read what there is to list; floors plan nothing, so there is nothing to look at."""
        from dualwm.evaluate.outcomes import RunFolder

        self._folder: RunFolder = RunFolder.find(path)
        self._failures = failures
        self._listed = {one.key: one for one in _listed(self._folder)}
        if not self._listed:
            raise RecipeError(f"{path} holds no episode of a system that plans. Name the run of one.")

    def page(self, path: str, words: dict[str, str]) -> str | None:
        """The list, or one episode."""
        from dualwm.report.episodes import episodes_page

        if path == "/":
            return episodes_page(str(self._folder.path), list(self._listed.values()), self._failures)
        key = _key(words)
        if path != "/episode" or key not in self._listed:
            return None
        return _episode(self._folder, self._listed[key])


def _key(words: dict[str, str]) -> "Key | None":
    try:
        return words["system"], int(words["offset"]), int(words["seed"]), int(words["task"])
    except (KeyError, ValueError):
        return None


def _listed(folder: "RunFolder") -> "list[Listed]":
    from dualwm.records import NO_WEIGHTS
    from dualwm.report.episodes import Listed
    from dualwm.zoo.failing import read_labels

    labels = read_labels(folder.path)
    return [
        Listed(outcome=o, label=labels.get((o.system, o.goal_offset_env_steps, o.seed, o.task), ""))
        for o in folder.finished()
        if o.weights_digest != NO_WEIGHTS
    ]


def _episode(folder: "RunFolder", listed: "Listed") -> str:
    """Run the task again, keeping what was thought, and tell it as the demo tells its tasks."""
    from dualwm.cli.demo_story import PLANNERS, tell
    from dualwm.envs.tworoom import TwoRoom
    from dualwm.evaluate.closed_loop import run as run_tasks
    from dualwm.report.page import page
    from dualwm.zoo.evaluation import Spec, check_weights, system_of

    outcome = listed.outcome
    spec = Spec.parse(outcome.system)
    system = system_of(spec)
    check_weights(outcome, system.weights_digest)
    if not isinstance(system.world, TwoRoom):
        raise RecipeError(f"The viewer draws TwoRoom; this run is in {outcome.world}.")
    taskset = folder.taskset(outcome.taskset_digest)
    controller = system.controller(spec.variant, outcome.goal_offset_env_steps, **spec.overrides)
    name = spec.variant if spec.variant in PLANNERS else "full"
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
    facts = {
        "system": f"{outcome.system}, weights {outcome.weights_digest}",
        "task": f"{outcome.task} of seed {outcome.seed}, offset {outcome.goal_offset_env_steps}, protocol "
        f"{outcome.protocol}, rule {outcome.rule}, TaskSet {outcome.taskset_digest}",
        "why it failed": listed.label or ("it did not" if outcome.success else "not labelled yet: dualwm failures"),
        "run again": "as it was recorded" if again.outcomes == [outcome] else "otherwise than it was recorded",
    }
    ahead = int(controller.actions.frame_skip)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
    # A cast, because pyright does not look through cached properties when it compares with a protocol.
    shown = cast("Encoder", system)
    story = tell(shown, system.world, taskset, {name: again}, env_steps_per_prediction=ahead, facts=facts)
    return page(story)
