import io
import math

import pytest
from rich.console import Console

from dualwm.train.progress import Pace, Progress, bars, duration
from dualwm.train.vitals import Spread, Vitals

PACE = Pace(
    step=50, loss=0.25, terms={"lore_low": 0.2, "gauss_low": 0.1}, learning_rate=1e-3, gradient_norm=0.7,
    windows_per_s=1234.5, waiting_share=0.031, eta_s=4000.0,
)  # fmt: skip
VITALS = Vitals(
    loss=0.3,
    terms={"lore_low": 0.3},
    rollout_error={"low": (0.011, 0.022), "high": (0.033,)},
    spread={"low": Spread(std_min=0.5, std_mean=0.9, effective_rank=33.3, width=192)},
    kl_per_dim=(0.0, 0.5, 1.0),
    values={"probe_px": (1.8,)},
)


def shown(terminal, every_s=0.0):
    text = io.StringIO()
    return text, Progress(Console(file=text, force_terminal=terminal, width=120, color_system=None), every_s)


@pytest.mark.parametrize("terminal", [True, False])
def test_every_number_is_shown_on_a_terminal_and_in_plain_lines(terminal):
    text, progress = shown(terminal)
    progress.begin("low", 1, 2, 100, 10)
    progress.train(PACE)
    progress.look(50, VITALS)
    progress.close()
    for words in (
        "continued after step 10", "50/100", "ETA 67 min", "lore_low 0.2", "gauss_low 0.1", "1,234 windows/s",
        "waiting for data 3%", "held-out loss", "0.011  0.022", "0.033", "std 0.90 (min 0.50)",
        "effective rank 33.3 of 192", " ▄█  max 1.00 nats", "probe_px",
    ):  # fmt: skip
        assert words in text.getvalue(), words


def test_plain_lines_come_at_their_own_pace_but_the_last_always():
    text, progress = shown(False, every_s=1000.0)
    progress.begin("low", 1, 1, 60, 0)
    for step in (10, 20, 60):
        progress.train(Pace(**{**vars(PACE), "step": step}))
    lines = [line.split()[1] for line in text.getvalue().splitlines()[1:]]
    assert lines == ["10/60,", "60/60,"]


def test_the_same_warning_is_said_once_and_markup_is_not_interpreted():
    text, progress = shown(False)
    for _ in range(3):
        progress.warn("the [low] latents")
    assert text.getvalue() == "Warning: the [low] latents\n"


def test_long_sentences_are_not_cut_into_lines():
    text, progress = shown(False)
    progress.note("word " * 100)
    assert len(text.getvalue().splitlines()) == 1


def test_bars_are_relative_to_the_largest_and_survive_anything():
    assert bars((0.0, 0.5, 1.0)) == " ▄█"
    assert bars((0.0, 0.0)) == "  "
    assert bars((math.nan, math.inf, 2.0, -1.0)) == "??█ "


@pytest.mark.parametrize(
    ("seconds", "words"), [(4.4, "4 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (11100, "3 h 05 min")]
)
def test_durations_are_told_in_words(seconds, words):
    assert duration(float(seconds)) == words
