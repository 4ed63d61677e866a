"""A run folder: what was run and what came of it, safe against being killed at any moment.

    command.json        what was asked for; another command may not write into this folder
    taskset-*.json      the tasks
    outcomes.jsonl      one line per task, sorted, without clocks, dates or hosts; there once nothing is missing
    outcomes.partial-*  lines of tasks that are over while others are not, one file per writer
    done.txt            what happens once per folder and has happened: lines added to the ledger
    timings.json        where the seconds went; a writer with a name has a file of its own
    provenance.json     who computed it when: commands, versions, kind of machine; likewise
    planning.json       planning time, measured with nothing beside it

A task's outcome depends on nothing but the task and the system. So a command that was killed continues with the tasks
that are missing, several writers may share the tasks, and `outcomes.jsonl` has the same bytes in every case.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from dualwm.errors import ProtocolError
from dualwm.evaluate.closed_loop import Timings
from dualwm.evaluate.tasks import load_taskset, save_taskset
from dualwm.files import append_lines, write_whole
from dualwm.records import NO_WEIGHTS, Outcome, TaskSet, read_outcomes

Key = tuple[str, str, int]
"""System, TaskSet digest, task."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """A folder that belongs to one command. `writer` names this process among several that share the tasks."""

    path: Path
    writer: str = ""

    @staticmethod
    def open(path: Path, command: Mapping[str, Any], writer: str = "") -> "RunFolder":
        """Begin, or continue what the same command began. `command` holds, as plain data, all that decides results."""
        if path.is_file():
            raise ProtocolError(
                f"{path} is a file; expected a folder for the run, or a name that is free. Name another."
            )
        file = path / "command.json"
        wanted = json.loads(json.dumps(dict(command)))
        if not file.exists():
            write_whole(file, json.dumps(wanted, sort_keys=True, indent=1) + "\n")
        found = _read_json(file)
        if found != wanted:
            raise ProtocolError(
                f"{path} belongs to another command: {_differences(found, wanted)}. Name another folder with --out, "
                "or repeat the command that made this one."
            )
        return RunFolder(path=path, writer=writer)

    @staticmethod
    def find(path: Path) -> "RunFolder":
        """A folder that some command made."""
        if not (path / "command.json").exists():
            raise ProtocolError(
                f"{path}: expected a run folder, with a file command.json as `dualwm eval --out` and `dualwm compare` "
                "write it. Name one."
            )
        return RunFolder(path=path)

    @property
    def command(self) -> dict[str, Any]:
        """What was asked for."""
        return _read_json(self.path / "command.json")

    def keep_taskset(self, taskset: TaskSet) -> Path:
        """Write the tasks down, or check that they are those written down before."""
        name = f"{taskset.world}-{taskset.protocol}-o{taskset.goal_offset_env_steps}-s{taskset.seed}"
        file = self.path / f"taskset-{name}.json"
        if not file.exists():
            save_taskset(taskset, file)
        elif load_taskset(file).digest != taskset.digest:
            raise ProtocolError(
                f"{file} holds other tasks than this command gives today (another pool, rule or version). Results on "
                "both may not be mixed: name another folder with --out."
            )
        return file

    @property
    def is_finished(self) -> bool:
        """Whether no outcome was missing when somebody last looked."""
        return (self.path / "outcomes.jsonl").exists()

    def finished(self, system: str | None = None, goal_offset_env_steps: int | None = None) -> list[Outcome]:
        """The outcomes, sorted: all, or those of one system or offset. An unfinished folder has none to show."""
        if not self.is_finished:
            raise ProtocolError(
                f"{self.path} is not finished: there is no outcomes.jsonl. Type the command of the run again."
            )
        known = read_outcomes(self.path / "outcomes.jsonl")
        chosen = [
            replace(o, weights_digest=o.weights_digest or NO_WEIGHTS)
            for o in known
            if system in (None, o.system) and goal_offset_env_steps in (None, o.goal_offset_env_steps)
        ]
        if not chosen:
            there = sorted({(o.system, o.goal_offset_env_steps) for o in known})
            raise ProtocolError(
                f"{self.path} records (system, offset) {there}, not what was asked for. Choose one of these."
            )
        return chosen

    def taskset(self, digest: str) -> TaskSet:
        """The tasks that outcomes name by their digest."""
        for file in sorted(self.path.glob("taskset-*.json")):
            taskset = load_taskset(file)
            if taskset.digest == digest:
                return taskset
        raise ProtocolError(
            f"No taskset-*.json of {self.path} has the digest {digest[:12]} that its outcomes name. Restore the file."
        )

    def provenance(self) -> list[dict[str, Any]]:
        """What every process had to say of itself, the latest last."""
        sessions = [one for file in sorted(self.path.glob("provenance*.json")) for one in _read_json(file)]
        return sorted(sessions, key=lambda one: str(one.get("began")))

    def keep_provenance(self, facts: Mapping[str, Any]) -> None:
        """Add what this process has to say of itself: command, versions, kind of machine, date."""
        file = self.path / ("-".join(filter(None, ["provenance", self.writer])) + ".json")
        sessions: list[Any] = _read_json(file) if file.exists() else []
        write_whole(file, json.dumps([*sessions, dict(facts)], indent=1, sort_keys=True) + "\n")

    def is_marked(self, entry: str) -> bool:
        """Whether something that must be done once was done."""
        marks = self.path / "done.txt"
        return marks.exists() and entry in marks.read_text(encoding="utf-8").splitlines()

    def mark(self, entry: str) -> None:
        """Remember that it was done."""
        append_lines(self.path / "done.txt", [entry])

    def twin(self, path: Path) -> "RunFolder":
        """Another folder of the same command."""
        RunFolder.find(path)
        return RunFolder.open(path, self.command, self.writer)

    def take_records(self, other: "RunFolder") -> None:
        """Copy another folder's timings and provenance beside one's own."""
        for file in sorted([*other.path.glob("timings*.json"), *other.path.glob("provenance*.json")]):
            here, data = self.path.glob(f"{file.stem}*.json"), file.read_bytes()
            if all(known.read_bytes() != data for known in here):
                write_whole(_free(self.path / file.name), data)

    def outcomes(self, name: str = "outcomes") -> "OutcomeLog":
        """The outcomes under a name; what is already known is read."""
        return OutcomeLog(folder=self.path, name=name, writer=self.writer)

    def timings(self) -> "TimingLog":
        """The timings of this writer."""
        return TimingLog(self.path / ("-".join(filter(None, ["timings", self.writer])) + ".json"))


class OutcomeLog:
    """Outcomes of one folder and name: what is known, what is missing, and how more is added."""

    def __init__(self, *, folder: Path, name: str, writer: str) -> None:
        """Read the finished file and every writer's partial one."""
        self.final = folder / f"{name}.jsonl"
        self._partials: Callable[[], list[Path]] = lambda: sorted(folder.glob(f"{name}.partial-*"))
        self._own = folder / f"{name}.partial-{writer or 'main'}"
        self._known: dict[Key, Outcome] = {}
        _drop_torn_line(self._own)
        self._read()

    @property
    def known(self) -> list[Outcome]:
        """All outcomes there are, in the order of the finished file."""
        return sorted(self._known.values(), key=_place)

    def of(self, system: str, taskset: TaskSet) -> list[Outcome]:
        """The known outcomes of one system on one TaskSet, in task order."""
        return [o for o in self.known if (o.system, o.taskset_digest) == (system, taskset.digest)]

    def missing(self, system: str, taskset: TaskSet) -> list[int]:
        """Indices of the tasks without an outcome."""
        digest = taskset.digest
        return [task.index for task in taskset.tasks if (system, digest, task.index) not in self._known]

    def has(self, outcome: Outcome) -> bool:
        """Whether this very outcome is known; another one of the same task is refused."""
        before = self._known.get(_key(outcome))
        if before is not None:
            self._take(outcome, str(self.final))
        return before is not None

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Put outcomes on the disk."""
        append_lines(self._own, [outcome.to_json() for outcome in outcomes])
        for outcome in outcomes:
            self._take(outcome, str(self._own))

    def finish(self, wanted: Iterable[tuple[str, TaskSet]]) -> bool:
        """Write the finished file if no task of any (system, TaskSet) is missing, other writers' included."""
        self._read()
        if any(self.missing(system, taskset) for system, taskset in wanted):
            return False
        write_whole(self.final, "".join(outcome.to_json() + "\n" for outcome in self.known))
        for partial in self._partials():
            partial.unlink(missing_ok=True)
        return True

    def _read(self) -> None:
        # Partial files first: another writer that finishes in between moves their lines into the finished file.
        for file in [*self._partials(), self.final]:
            with suppress(FileNotFoundError):
                for outcome in read_outcomes(file):
                    self._take(outcome, str(file))

    def _take(self, outcome: Outcome, where: str) -> None:
        before = self._known.setdefault(_key(outcome), outcome)
        if before != outcome:
            raise ProtocolError(
                f"{where}: task {outcome.task} of seed {outcome.seed} has two different outcomes of {outcome.system}. "
                "The same task gives the same outcome on one machine type with one version of everything, so one of "
                "the two comes from elsewhere: run the command again into an empty folder."
            )


class TimingLog:
    """Timings of one writer: of every session per system and TaskSet, and of single tasks."""

    def __init__(self, file: Path) -> None:
        """Read what earlier sessions left."""
        self._file = file
        data: dict[str, Any] = {"sessions": [], "single_ms": {}, **(_read_json(file) if file.exists() else {})}
        self._sessions: list[dict[str, Any]] = data["sessions"]
        self._single_ms: dict[str, float] = data["single_ms"]

    def session(self, system: str, weights_digest: str, taskset: TaskSet) -> Callable[[Timings], None]:
        """Open a session; the function returned writes down its timings so far, as often as one likes."""
        entry: dict[str, Any] = {
            "system": system,
            "weights_digest": weights_digest,
            "taskset_digest": taskset.digest,
            "goal_offset_env_steps": taskset.goal_offset_env_steps,
            "seed": taskset.seed,
        }
        self._sessions.append(entry)

        def write(timings: Timings) -> None:
            entry.update(asdict(timings))
            self._write()

        return write

    def total(self, system: str, tasksets: Iterable[TaskSet]) -> Timings:
        """The sum over all sessions of a system on some TaskSets."""
        digests = {taskset.digest for taskset in tasksets}
        total = Timings()
        for entry in self._sessions:
            if entry["system"] == system and entry["taskset_digest"] in digests and "env_steps" in entry:
                total += _timings(entry)
        return total

    def single_ms(self, system: str, taskset: TaskSet) -> float | None:
        """Planning milliseconds per environment step of single tasks, if they were measured."""
        return self._single_ms.get(f"{system} {taskset.digest}")

    def keep_single_ms(self, system: str, taskset: TaskSet, value: float) -> None:
        """Write such a measurement down."""
        self._single_ms[f"{system} {taskset.digest}"] = value
        self._write()

    def _write(self) -> None:
        data = {"sessions": [entry for entry in self._sessions if "env_steps" in entry], "single_ms": self._single_ms}
        write_whole(self._file, json.dumps(data, indent=1) + "\n")


def _key(outcome: Outcome) -> Key:
    return outcome.system, outcome.taskset_digest, outcome.task


def _free(file: Path) -> Path:
    """The file, or the first numbered name beside it that nobody has."""
    names = (file, *(file.with_stem(f"{file.stem}-{i}") for i in range(2, 1000)))
    return next(name for name in names if not name.exists())


def _place(outcome: Outcome) -> tuple[Any, ...]:
    return (
        outcome.world,
        outcome.rule,
        outcome.protocol,
        outcome.system,
        outcome.goal_offset_env_steps,
        outcome.seed,
        outcome.task,
        outcome.taskset_digest,
    )


def _drop_torn_line(file: Path) -> None:
    """Cut what a killed writer left behind the last whole line, or the next line would be glued to it."""
    if file.exists():
        data = file.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            write_whole(file, data[:whole])


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ProtocolError(f"{file}: expected JSON, and could not read it ({problem}). Restore the file.") from problem


def _timings(entry: Mapping[str, Any]) -> Timings:
    values: dict[str, Any] = {name: entry[name] for name in asdict(Timings())}
    values["decision_ms_per_env_step"] = tuple(values["decision_ms_per_env_step"])
    return Timings(**values)


def _differences(found: Any, wanted: Mapping[str, Any]) -> str:
    if not isinstance(found, dict):
        return "its command.json is no mapping"
    there = cast("dict[str, Any]", found)
    names = sorted(there.keys() | wanted.keys())
    told = [f"{n} was {there.get(n)!r}, now {wanted.get(n)!r}" for n in names if there.get(n) != wanted.get(n)]
    return "; ".join(told)
