"""One walk as a still picture: the map with the stages of the walk, and real frames above imagined ones."""

import io
from collections.abc import Sequence
from math import cos, pi, sin

from PIL import Image, ImageDraw, ImageFont

from dualwm.report.page import ending
from dualwm.report.story import Plane, Points, Story, TaskStory, Thought, Walk

COLOURS = {
    "paper": "#ffffff",
    "ink": "#1d2126",
    "soft": "#676f79",
    "wall": "#3a4048",
    "route": "#9a3d86",
    "refine": "#3f6fc4",
    "converge": "#16868a",
    "reuse": "#8b929b",
    "other": "#c96a14",
    "near": "#dcece3",
}
_WIDTH, _HEIGHT = 1760, 664
_MAP = (32, 32, 600)
"""Left, top and side of the map."""
_SHARPNESS = 3
"""The map is drawn this much larger and then averaged, because Pillow's lines have no smooth edges."""
_STRIP_LEFT, _TOP, _FRAME, _GAP, _COLUMNS = 758, 56, 112, 10, 8


def still_png(story: Story) -> bytes:
    """The picture of the task that `pick` chooses, as PNG bytes."""
    buffer = io.BytesIO()
    still(story, pick(story)).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def pick(story: Story) -> TaskStory:
    """The first task that the first planner alone reached; else the farthest that it reached; else the first."""
    alone = [t for t in story.tasks if t.walks[0].success and not any(walk.success for walk in t.walks[1:])]
    reached = [task for task in story.tasks if task.walks[0].success]
    reached.sort(key=lambda task: -(task.path_px or 0.0))
    return [*alone, *reached, *story.tasks][0]


def still(story: Story, task: TaskStory) -> Image.Image:
    """Map on the left, strips of frames and the band of stages on the right."""
    picture = Image.new("RGB", (_WIDTH, _HEIGHT), COLOURS["paper"])
    left, top, side = _MAP
    assert story.plane is not None, "a still picture shows a map"
    picture.paste(_draw_map(story.plane, task, story.env_steps_per_prediction, side), (left, top))
    _draw_strips(picture, story, task)
    return picture


def columns(walk: Walk, ahead: int, count: int = _COLUMNS) -> list[int]:
    """Environment steps that the strips show: multiples of `ahead`, spread evenly over the walk."""
    last = max(1, walk.steps // ahead)
    wanted = min(count, last)
    return sorted({ahead * round(1 + i * (last - 1) / max(1, wanted - 1)) for i in range(wanted)})


def foreseen(walk: Walk, env_step: int, ahead: int) -> tuple[Thought, int] | None:
    """The earliest decision that imagined this step, and which of its imagined frames stands for it."""
    for thought in walk.thoughts:
        number, rest = divmod(env_step - thought.env_step, ahead)
        if rest == 0 and 1 <= number <= len(thought.imagined.frames):
            return thought, number - 1
    return None


# ---- the map ----


class _Pen:
    """Draws in the plane's units on a larger picture."""

    def __init__(self, plane: Plane, side: int) -> None:
        walls = plane.walls or ((0.0, 0.0, plane.width, plane.height),)
        self._x, self._y = min(wall[0] for wall in walls), min(wall[1] for wall in walls)
        far = max(max(x + width - self._x, y + height - self._y) for x, y, width, height in walls)
        self._scale, self._side = side * _SHARPNESS / far, side
        self.picture = Image.new("RGB", (side * _SHARPNESS, side * _SHARPNESS), COLOURS["paper"])
        self._draw = ImageDraw.Draw(self.picture)

    def at(self, points: Points) -> list[tuple[float, float]]:
        return [((float(x) - self._x) * self._scale, (float(y) - self._y) * self._scale) for x, y in points[:, :2]]

    def rectangle(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        a, b = (x - self._x) * self._scale, (y - self._y) * self._scale
        self._draw.rectangle((a, b, a + width * self._scale - 1, b + height * self._scale - 1), fill=colour)

    def line(self, points: Points, width: float, colour: str) -> None:
        places, wide = self.at(points), round(width * self._scale)
        self._draw.line(places, fill=colour, width=wide, joint="curve")
        for place in places:  # round ends and joints
            self._draw.circle(place, wide / 2, fill=colour)

    def dots(self, points: Points, radius: float, fill: str, outline: str | None = None) -> None:
        for place in self.at(points):
            self._draw.circle(place, radius * self._scale, fill=fill, outline=outline, width=round(0.8 * self._scale))

    def diamonds(self, points: Points, radius: float, colour: str) -> None:
        r = radius * self._scale
        for number, (x, y) in enumerate(self.at(points), start=1):
            self._draw.polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], fill=colour)
            self._draw.text((x, y), str(number), fill=COLOURS["paper"], font=_font(round(1.05 * r)), anchor="mm")

    def star(self, point: Points, radius: float, colour: str) -> None:
        (x, y), r = self.at(point)[0], radius * self._scale
        spikes = [(r if i % 2 == 0 else 0.42 * r, pi * (i / 5 - 0.5)) for i in range(10)]
        self._draw.polygon([(x + length * cos(a), y + length * sin(a)) for length, a in spikes], fill=colour)

    def finish(self) -> Image.Image:
        return self.picture.resize((self._side, self._side), Image.Resampling.LANCZOS)


def _draw_map(plane: Plane, task: TaskStory, ahead: int, side: int) -> Image.Image:
    walk, pen = task.walks[0], _Pen(plane, side)
    pen.dots(task.goal.points, plane.goal_radius, COLOURS["near"])
    for wall in plane.walls:
        pen.rectangle(*wall, COLOURS["wall"])
    for other in task.walks[1:]:
        pen.line(other.path.points, 1.1, COLOURS["other"])
    for stage, piece in _pieces(walk):
        pen.line(piece, 2.2, COLOURS[stage])
    for env_step in range(ahead, walk.steps + 1, ahead):
        found = foreseen(walk, env_step, ahead)
        if found is not None:
            thought, number = found
            pen.dots(thought.imagined.points[number : number + 1], 1.8, COLOURS["paper"], COLOURS["ink"])
    pen.diamonds(walk.thoughts[0].route.points, 5.0, COLOURS["route"])
    pen.dots(task.start.points, 3.4, COLOURS["paper"], COLOURS["ink"])
    pen.star(task.goal.points, 7.5, COLOURS["ink"])
    return pen.finish()


def _pieces(walk: Walk) -> list[tuple[str, Points]]:
    """The walk cut at its decisions, with the stage of each."""
    starts = [thought.env_step for thought in walk.thoughts]
    ends = [*starts[1:], walk.steps]
    return [
        (thought.stage, walk.path.points[start : end + 1])
        for thought, start, end in zip(walk.thoughts, starts, ends, strict=True)
    ]


# ---- the strips ----


def _draw_strips(picture: Image.Image, story: Story, task: TaskStory) -> None:
    walk, ahead = task.walks[0], story.env_steps_per_prediction
    draw, frames = ImageDraw.Draw(picture), task.sprites.frames()
    rows = [_TOP + i * (_FRAME + 40) for i in range(3)]
    for name, y in zip(("real", "imagined", "aims at"), rows, strict=True):
        draw.text((_STRIP_LEFT - 14, y + _FRAME / 2), name, COLOURS["ink"], _font(21), anchor="rm")
    for i, step in enumerate(columns(walk, ahead)):
        x = _STRIP_LEFT + i * (_FRAME + _GAP)
        draw.text((x + _FRAME / 2, _TOP - 10), f"step {step}", COLOURS["soft"], _font(17), anchor="mb")
        for y, (frame, says) in zip(rows, _column(task, walk, step, ahead), strict=True):
            _frame(picture, draw, None if frame is None else Image.fromarray(frames[frame]), x, y)
            draw.text((x + _FRAME / 2, y + _FRAME + 6), says, COLOURS["soft"], _font(15), anchor="mt")
    _draw_band(draw, walk, rows[2] + _FRAME + 52)
    _draw_words(draw, rows[2] + _FRAME + 110, story, task)


def _column(task: TaskStory, walk: Walk, step: int, ahead: int) -> list[tuple[int | None, str]]:
    """The frames of one step from top to bottom, each with a few words: real, imagined, subgoal or goal."""
    thought, found = walk.thought_at(step), foreseen(walk, step, ahead)
    imagined = None if found is None else found[0].imagined.frames[found[1]]
    subgoal = next(iter(thought.subgoal.frames), None)
    return [
        (walk.path.frames[min(step, walk.steps)], ""),
        (imagined, "" if found is None else f"{step - found[0].env_step} steps ahead"),
        (task.goal.frames[0], "the goal") if subgoal is None else (subgoal, "a subgoal"),
    ]


def _frame(picture: Image.Image, draw: ImageDraw.ImageDraw, frame: Image.Image | None, x: int, y: int) -> None:
    box = (x - 1, y - 1, x + _FRAME, y + _FRAME)
    if frame is None:
        draw.rectangle(box, outline="#e3e1dc")
        draw.line((x, y + _FRAME, x + _FRAME, y), fill="#e3e1dc")
        return
    picture.paste(frame.resize((_FRAME, _FRAME), Image.Resampling.BICUBIC), (x, y))
    draw.rectangle(box, outline="#c9c6bf")


def _draw_band(draw: ImageDraw.ImageDraw, walk: Walk, y: int) -> None:
    """The stages over time, from the first to the last step of the walk."""
    width = _COLUMNS * (_FRAME + _GAP) - _GAP
    draw.text((_STRIP_LEFT - 14, y + 12), "stage", COLOURS["ink"], _font(21), anchor="rm")
    starts = [thought.env_step for thought in walk.thoughts]
    for thought, start, end in zip(walk.thoughts, starts, [*starts[1:], walk.steps], strict=True):
        a, b = (_STRIP_LEFT + width * step / max(1, walk.steps) for step in (start, end))
        draw.rectangle((a, y, b - 3, y + 24), fill=COLOURS[thought.stage])
        if thought.routed:
            x, middle = a + 15, y + 12
            points = [(x, middle - 10), (x + 10, middle), (x, middle + 10), (x - 10, middle)]
            draw.polygon(points, fill=COLOURS["route"], outline=COLOURS["paper"])


def _draw_words(draw: ImageDraw.ImageDraw, y: int, story: Story, task: TaskStory) -> None:
    """What the colours mean, and how it ended."""
    words: Sequence[tuple[str, str]] = (
        ("route", "route planned, its subgoals"),
        ("refine", "refine: reach the subgoal"),
        ("converge", "converge: reach the goal"),
        ("other", story.planners[1].label if len(story.planners) > 1 else ""),
    )
    x = float(_STRIP_LEFT)
    for name, text in words:
        if text:
            draw.rectangle((x, y - 7, x + 14, y + 7), fill=COLOURS[name])
            draw.text((x + 22, y), text, COLOURS["soft"], _font(18), anchor="lm")
            x += 22 + draw.textlength(text, _font(18)) + 26
    endings = [f"{p.label}: {ending(walk)}" for p, walk in zip(story.planners, task.walks, strict=True)]
    draw.text((_STRIP_LEFT, y + 34), "  ·  ".join(endings), COLOURS["ink"], _font(18), anchor="lm")


def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)
