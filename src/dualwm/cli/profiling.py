"""A difficulty profile as tables, one per success rule: measures down, offsets across."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from dualwm.evaluate.profile import Hardness, Profile
from dualwm.evaluate.summary import Part

_SHOWN = ("q05", "q50", "q95")


def print_profile(profile: Profile) -> None:
    """Every rule's table."""
    console = Console(width=max(112, Console().width))
    for rule in dict.fromkeys(row.rule for row in profile.rows):
        console.print(_table(profile, rule, [row for row in profile.rows if row.rule == rule]))


def _table(profile: Profile, rule: str, rows: Sequence[Hardness]) -> Table:
    seeds = ", ".join(map(str, profile.seeds))
    table = Table(
        title=f"{profile.world}, {profile.collection} collection, rule {rule}, variant {profile.variant}, "
        f"{rows[0].tasks} tasks an offset (seeds {seeds})",
        caption="floors: success on tasks not solved at the start, with Wilson's 95 % interval; "
        "distances and lengths: 5, 50 and 95 % quantile",
    )
    table.add_column("goal offset, environment steps")
    for row in rows:
        table.add_column(str(row.goal_offset_env_steps), justify="right")

    def add(label: str, cell: Callable[[Hardness], str]) -> None:
        table.add_row(label, *map(cell, rows))

    add("pairs in the pool", lambda row: f"{row.pairs:,}")
    add("already solved", lambda row: f"{100 * row.already_solved:.1f} %")
    for name in rows[0].floors:
        add(name, lambda row, name=name: _rate(row.floors[name]))
    if any(row.hard is not None for row in rows):
        add("other room, 100 px and more", lambda row: "–" if row.hard is None else f"{100 * row.hard:.1f} %")
    add(f"distance at the start ({rule})", lambda row: _quantiles(row.displacement))
    for name in rows[0].facts:
        add(name, lambda row, name=name: _quantiles(row.facts[name]))
    if "oracle" in rows[0].floors:
        add("oracle's environment steps", lambda row: _quantiles(row.oracle_env_steps))
    return table


def _rate(part: Part) -> str:
    if part.success is None or part.ci95 is None:
        return "–"
    low, high = (100 * end for end in part.ci95)
    return f"{100 * part.success:.1f} % [{low:.1f}, {high:.1f}]"


def _quantiles(found: Mapping[str, float] | None) -> str:
    return "–" if found is None else " · ".join(f"{found[name]:.3g}" for name in _SHOWN)
