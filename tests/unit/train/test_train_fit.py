"""Laws of whole runs, in one process and without killing anything (see tests/integration for that)."""

import json
import math
import signal
from dataclasses import replace

import pytest
import torch
from rich.console import Console
from train_toy import SETTINGS, High, Low, Samples, StopAt, Toy, metrics, train

from dualwm.errors import DataError, RecipeError, SystemFolderError, WorldError
from dualwm.files import LOCK_NAME
from dualwm.nets.batchnorm import batchnorms
from dualwm.train.folder import locked
from dualwm.train.progress import Progress, Silent


class Notes(Silent):
    """Remembers what would have been said."""

    def __init__(self):
        super().__init__()
        self.notes, self.warnings = [], []

    def note(self, text):
        self.notes.append(text)

    def warn(self, text):
        self.warnings.append(text)


def same(model, other):
    return all(torch.equal(a, other.state_dict()[name]) for name, a in model.state_dict().items())


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The model of a run nobody disturbed, and its folder."""
    out = tmp_path_factory.mktemp("straight")
    return train(out)[0], out


def stopped(out):
    """A run stopped in its first stage after 14 steps."""
    return train(out, stages=[StopAt(), High()])


def test_training_lowers_the_loss_and_reports_its_work(tmp_path):
    model, summary = train(tmp_path, settings={"steps": 80})
    assert summary.finished
    assert [stage.name for stage in summary.stages] == ["low", "high"]
    assert all(stage.steps == 80 and stage.windows_per_s > 0 for stage in summary.stages)
    assert all(0 <= stage.waiting_share < 1 for stage in summary.stages)
    losses = [line["loss"] for line in metrics(tmp_path, "train") if line["stage"] == "low"]
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])
    assert not model.training


def test_a_finished_run_says_so_and_does_nothing(tmp_path):
    model, _ = train(tmp_path)
    before = written(tmp_path)
    notes = Notes()
    again, summary = train(tmp_path, progress=notes)
    assert summary.already_finished
    assert "finished already" in notes.notes[-1]
    assert same(model, again)
    assert written(tmp_path) == before


def written(folder):
    """When each file of a run was written; the lock is taken by whoever looks."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != LOCK_NAME}


def test_an_interrupted_run_says_how_to_continue_and_ends_the_same(tmp_path, straight):
    _, summary = stopped(tmp_path / "run")
    assert not summary.finished
    assert "after step 14 of 24 of stage low" in summary.message
    assert "type the same command again to continue" in summary.message
    notes = Notes()
    continued, summary = train(tmp_path / "run", progress=notes)
    assert summary.finished
    assert same(straight[0], continued)
    assert metrics(tmp_path / "run") == metrics(straight[1])


def test_a_stop_asked_at_the_last_step_of_a_stage_is_heard(tmp_path, straight):
    _, summary = train(tmp_path, stages=[StopAt(at=SETTINGS.steps - 1), High()])
    assert not summary.finished
    assert same(train(tmp_path)[0], straight[0])


def test_ctrl_c_outside_the_steps_ends_with_the_sentence_too(tmp_path, straight):
    class Impatient(High):
        def prepare(self, model, out):
            raise KeyboardInterrupt

    _, summary = train(tmp_path, stages=[Low(), Impatient()])
    assert not summary.finished
    assert "type the same command again" in summary.message
    assert same(train(tmp_path)[0], straight[0])


def test_the_old_signal_handlers_are_back_afterwards(tmp_path):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    stopped(tmp_path)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_time_limit_stops_with_a_checkpoint(tmp_path, straight):
    notes = Notes()
    _, summary = train(tmp_path, stop_after_s=0.0, progress=notes)
    assert not summary.finished
    assert summary.stages[0].steps == 1
    assert notes.notes[-1] == summary.message
    assert same(train(tmp_path)[0], straight[0])


def test_a_folder_of_another_run_is_refused_with_the_differences(tmp_path):
    stopped(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RecipeError) as refused:
        train(tmp_path, settings={"learning_rate": 0.5}, seed=3)
    text = str(refused.value)
    assert "seed: the run has 0, now 3" in text
    assert "stages.low.settings.learning_rate: the run has 0.02, now 0.5" in text
    assert "another --out" in text
    assert "batch_size" not in text
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_recipe_settings_are_compared_as_well(tmp_path):
    from functools import partial

    begin = partial(train, tmp_path)
    begin(settings={}, stages=[StopAt(), High()])
    run = json.loads((tmp_path / "run.json").read_text())
    run["settings"]["recipe"] = {"data": {"digest": "abc"}, "sizes": [1, 2]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(RecipeError, match=r"recipe\.data: the run has .*abc.*, now 'nothing'"):
        begin()


def test_the_checkpoint_cadence_may_change_between_commands(tmp_path, straight):
    stopped(tmp_path / "run")
    settings = replace(SETTINGS, checkpoint_every_steps=7, checkpoint_every_s=0.0)
    model, _ = train(tmp_path / "run", stages=[Low(settings), High(settings)])
    assert same(model, straight[0])


def test_looking_at_held_out_data_changes_nothing(tmp_path):
    """Even where finishing a stage, which every look tries out, moves weights."""

    class Halving(Low):
        def finish(self, model, batches):
            super().finish(model, batches)
            with torch.no_grad():
                model.body[0].weight.mul_(0.5)

    often, never = (
        train(tmp_path / str(every), stages=[Halving(replace(SETTINGS, heldout_every_steps=every)), High()])[0]
        for every in (1, 1000)
    )
    assert same(often, never)


def test_the_seed_decides_order_and_noise(tmp_path):
    assert not same(train(tmp_path / "a", seed=1)[0], train(tmp_path / "b", seed=2)[0])


def test_training_leaves_the_callers_generator_alone(tmp_path):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    train(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_stray_draws_from_torchs_generator_are_functions_of_the_step(tmp_path):
    class Stray(Low):
        def terms(self, model, batch, step):
            return super().terms(model, {**batch, "x": batch["x"] + torch.randn(3)}, step)

    class StrayStop(Stray, StopAt):
        pass

    straight, _ = train(tmp_path / "straight", stages=[Stray(), High()])
    train(tmp_path / "run", stages=[StrayStop(), High()])
    assert same(train(tmp_path / "run", stages=[Stray(), High()])[0], straight)


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path, straight):
    class Breaks(Low):
        def terms(self, model, batch, step):
            terms = super().terms(model, batch, step)
            return terms | {"fit": terms["fit"] * (math.nan if step.step == 12 else 1.0)}

    with pytest.raises(RecipeError, match=r"stage 'low' is not a finite number at step 13: loss nan.*fit nan"):
        train(tmp_path, stages=[Breaks(), High()])
    assert sorted(p.stem for p in (tmp_path / "checkpoints").glob("*.json")) == ["00-0000000005", "00-0000000010"]
    assert same(train(tmp_path)[0], straight[0])


def test_exploding_gradients_under_a_finite_loss_stop_the_run_as_well(tmp_path):
    class Breaks(Low):
        def terms(self, model, batch, step):
            terms = super().terms(model, batch, step)
            # sqrt at zero: finite value, infinite slope
            return terms | {"fit": terms["fit"] + (model.body[4].bias * 0).square().sum().sqrt()}

    with pytest.raises(RecipeError, match="not a finite number at step 1"):
        train(tmp_path, stages=[Breaks()])


def test_the_stages_train_what_they_name_and_nothing_else(tmp_path):
    start = Toy()
    low_only, _ = train(tmp_path / "low", stages=[Low()])
    assert same(low_only.head, start.head)
    assert not same(low_only.body, start.body)
    both, _ = train(tmp_path / "both")
    assert same(both.body, low_only.body)
    assert not same(both.head, start.head)


@pytest.mark.parametrize("part", ["weight", "running_var"])
def test_a_stage_that_touches_what_it_does_not_train_is_caught_and_not_saved(tmp_path, part, straight):
    class Naughty(High):
        def finish(self, model, batches):
            with torch.no_grad():
                getattr(model.body[1], part).mul_(1.0001)

    with pytest.raises(RecipeError, match=rf"changed what it does not train: body\.1\.{part}"):
        train(tmp_path, stages=[Low(), Naughty()])
    assert same(train(tmp_path)[0], straight[0])


def test_finishing_re_estimates_batchnorm_from_batches_of_its_own(tmp_path):
    class Unfinished(Low):
        def finish(self, model, batches):
            pass

    finished, _ = train(tmp_path / "a", stages=[Low()])
    unfinished, _ = train(tmp_path / "b", stages=[Unfinished()])
    (norm,), (raw,) = batchnorms(finished.body), batchnorms(unfinished.body)
    assert torch.equal(norm.weight, raw.weight)
    assert not torch.equal(norm.running_var, raw.running_var)


def test_metrics_tell_every_log_step_and_every_look_once(tmp_path):
    stopped(tmp_path)
    train(tmp_path)
    for stage in ("low", "high"):
        steps = {
            kind: [x["step"] for x in metrics(tmp_path, kind) if x["stage"] == stage] for kind in ("train", "heldout")
        }
        assert steps == {"train": [4, 8, 12, 16, 20, 24], "heldout": [10, 20, 24]}
    line = metrics(tmp_path, "train")[0]
    assert line.keys() == {"kind", "stage", "step", "loss", "terms", "learning_rate", "gradient_norm"}
    assert line["loss"] == pytest.approx(line["terms"]["fit"] + 0.1 * line["terms"]["gauss"])
    look = metrics(tmp_path, "heldout")[0]
    assert look["spread"]["low"].keys() == {"std_min", "std_mean", "effective_rank", "width"}
    assert len(look["rollout_error"]["low"]) == 2


@pytest.mark.parametrize(
    "tail", ['{"kind":"train","sta', '{"kind":"train","stage":"low","step":16}\n', "\0\0\0\n", "[]\n"]
)
def test_lines_beyond_the_checkpoint_and_torn_ones_are_cut(tmp_path, tail, straight):
    stopped(tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
        file.write(tail)
    train(tmp_path / "run")
    assert metrics(tmp_path / "run") == metrics(straight[1])


def test_alarms_are_shown_and_written(tmp_path):
    class Collapsed(High):
        def watch(self, model, batch, step):
            return replace(super().watch(model, batch, step), kl_per_dim=torch.zeros(2))

    notes = Notes()
    train(tmp_path, stages=[Low(), Collapsed()], progress=notes)
    alarms = metrics(tmp_path, "alarm")
    assert [line["step"] for line in alarms if "macro dimensions are dead" in line["text"]] == [10, 20, 24]
    assert any("macro dimensions are dead" in text for text in notes.warnings)


def test_data_that_changed_under_the_run_are_refused(tmp_path):
    stopped(tmp_path)
    with pytest.raises(DataError, match="begun on 50 training samples and now finds 51"):
        train(tmp_path, stages=[Low(samples=Samples(51)), High()])


def test_a_model_that_no_longer_fits_is_refused(tmp_path):
    stopped(tmp_path)
    other = Toy()
    other.head[3] = torch.nn.Linear(16, 3)
    with pytest.raises(SystemFolderError, match=r"does not fit the model: head\.3\.weight, head\.3\.bias"):
        train(tmp_path, model=other)


def test_a_second_writer_is_kept_out(tmp_path):
    with locked(tmp_path), pytest.raises(SystemFolderError, match=r"Another process \(number \d+\) is training"):
        train(tmp_path)
    assert train(tmp_path)[1].finished


def test_checkpoints_of_nobody_knows_whom_are_not_overwritten(tmp_path):
    stopped(tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(SystemFolderError, match=r"no run\.json"):
        train(tmp_path)


def test_a_run_folder_that_cannot_be_read_is_an_error_with_a_remedy(tmp_path):
    stopped(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(SystemFolderError, match="Restore it from a copy"):
        train(tmp_path)


def test_two_stages_of_one_name_are_refused(tmp_path):
    with pytest.raises(RecipeError, match="Two stages are named 'low'"):
        train(tmp_path, stages=[Low(), Low()])


def test_a_stage_without_steps_leaves_the_weights_alone(tmp_path):
    settings = replace(SETTINGS, steps=0)

    class Idle(Low):
        def finish(self, model, batches):
            pass

    model, summary = train(tmp_path, stages=[Idle(settings)])
    assert summary.finished
    assert same(model, Toy())


def test_feeds_are_closed_and_used_for_every_read(tmp_path, straight):
    from dualwm.train.feed import InTurn

    opened = []

    class Closing(InTurn):
        def __init__(self, source, order):
            super().__init__(source, order)
            self.open = True
            opened.append(self)

        def close(self):
            self.open = False

    assert same(train(tmp_path / "run", iterate=Closing)[0], straight[0])
    assert len(opened) == 2 * (1 + 3)
    assert not any(feed.open for feed in opened)


def test_tensorboard_is_asked_for_by_name_where_it_is_missing(tmp_path):
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        with pytest.raises(WorldError, match=r"pip install .*\[tensorboard\]"):
            train(tmp_path, tensorboard=True)
        assert train(tmp_path)[1].finished
    else:
        train(tmp_path, tensorboard=True)
        assert list((tmp_path / "tensorboard").iterdir())


def test_tensorboard_receives_every_number_and_forgets_what_is_repeated(tmp_path, monkeypatch):
    class Board:
        def __init__(self, folder, start):
            boards.append(self)
            self.start, self.points = start, {}

        def add_scalar(self, tag, value, step):
            self.points.setdefault(tag, []).append(step)

        def flush(self):
            pass

        close = flush

    boards = []
    monkeypatch.setattr("dualwm.train.metrics._open_board", Board)
    train(tmp_path, stages=[StopAt(), High()], tensorboard=True)
    train(tmp_path, tensorboard=True)
    assert [board.start for board in boards] == [0, 14]
    assert boards[0].points["low/train/loss"] == [4, 8, 12]
    assert boards[1].points["low/train/terms/gauss"] == [16, 20, 24]
    assert boards[1].points["high/train/loss"] == [28, 32, 36, 40, 44, 48]
    assert boards[1].points["high/heldout/kl_per_dim/1"] == [34, 44, 48]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_person_sees_all_the_numbers(tmp_path, terminal):
    import io

    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=110, color_system=None)
    train(tmp_path, progress=Progress(console, every_s=0.0))
    shown = text.getvalue()
    for words in (
        "Stage low (1 of 2)", "loss", "windows/s", "waiting for data", "ETA", "held-out loss", "rollout error",
        "effective rank", "KL per macro dim", "█▄", "is finished",
    ):  # fmt: skip
        assert words in shown, words


def test_only_the_first_differences_are_listed_and_the_others_counted(tmp_path):
    stopped(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    run["settings"]["recipe"] = {f"setting {i}": i for i in range(40)}
    (tmp_path / "run.json").write_text(json.dumps(run))
    with pytest.raises(RecipeError, match=r"setting 1: the run has 1, now 'nothing'.*; and 35 more\.") as refused:
        train(tmp_path)
    assert str(refused.value).count("the run has") == 5


@pytest.mark.parametrize("foreign", ["meta.json", "outcomes.jsonl", "model.safetensors"])
def test_a_folder_of_something_else_is_not_written_into(tmp_path, foreign):
    (tmp_path / foreign).write_text("{}")
    with pytest.raises(SystemFolderError, match=rf"holds no run\.json but {foreign}.*another --out"):
        train(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [foreign]


def test_what_a_killed_beginning_left_is_no_stranger(tmp_path):
    (tmp_path / ".lock").write_text("12")
    (tmp_path / "run.json.12.part").write_text("{")
    assert train(tmp_path)[1].finished


def test_a_file_in_the_place_of_a_run_or_above_it_is_said_in_a_paragraph(tmp_path):
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(SystemFolderError, match="another --out"):
            train(out)
