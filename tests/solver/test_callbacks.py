"""Callbacks observe and may ask to stop; they never steer."""

import numba as nb
import numpy as np
import pytest
from tqdm.auto import tqdm

from randsub.optim import ProjectedAdam
from randsub.solver import Callback, ProgressBar, Settings, TrainingState, solve, start, train
from tiny_world import Part, Recorder, assert_same, begin, make_problem, make_settings, noisy

Event = tuple[str, str, int]


class Witness(Callback):
    """Writes down what it sees; asks to stop after some epoch."""

    def __init__(self, name: str, events: list[Event], stop_after: int | None = None) -> None:
        self.name = name
        self.events = events
        self.stop_after = stop_after
        self.settings: Settings | None = None
        self.reasons: list[str | None] = []

    def on_start(self, settings: Settings, state: TrainingState) -> None:
        self.settings = settings
        self.events.append((self.name, "start", state.epoch))

    def on_epoch_end(self, state: TrainingState) -> bool | None:
        self.events.append((self.name, "epoch", state.epoch))
        return state.epoch == self.stop_after

    def on_end(self, state: TrainingState) -> None:
        self.events.append((self.name, "end", state.epoch))
        self.reasons.append(state.stopped)


def world():
    return make_problem(noisy, optimizer=ProjectedAdam(0.01))


def test_callbacks_are_called_in_order() -> None:
    events: list[Event] = []
    settings = make_settings(max_iter=2)
    callbacks = [Witness("a", events), Witness("b", events)]
    train(world(), settings, begin(world(), settings), callbacks)
    assert events == [
        (name, what, epoch)
        for what, epoch in [("start", 0), ("epoch", 1), ("epoch", 2), ("end", 2)]
        for name in ("a", "b")
    ]
    assert callbacks[0].settings is settings
    assert callbacks[0].reasons == ["all epochs done"]


@pytest.mark.parametrize("who", ["a", "b"])
def test_any_callback_can_stop_the_loop(who) -> None:
    events: list[Event] = []
    settings = make_settings(max_iter=10)
    callbacks = [Witness(name, events, 3 if name == who else None) for name in ("a", "b")]
    state = train(world(), settings, begin(world(), settings), callbacks)
    assert state.epoch == 3
    assert state.stopped == "a callback asked to stop"
    # All of them looked at the last epoch, and all heard of the end and of its reason.
    assert events[-4:] == [("a", "epoch", 3), ("b", "epoch", 3), ("a", "end", 3), ("b", "end", 3)]
    assert callbacks[0].reasons == callbacks[1].reasons == ["a callback asked to stop"]


def test_a_stopped_run_can_go_on() -> None:
    settings = make_settings(max_iter=10)
    state = train(world(), settings, begin(world(), settings), [Witness("a", [], 3)])
    resumed = train(world(), settings, state)
    assert_same(resumed, train(world(), settings, begin(world(), settings)))


def test_watching_changes_nothing() -> None:
    settings = make_settings(max_iter=10)
    alone = train(world(), settings, begin(world(), settings))
    watched = train(world(), settings, begin(world(), settings), [Callback(), Recorder()])
    assert_same(alone, watched)


def test_the_end_is_announced_when_something_breaks() -> None:
    events: list[Event] = []

    class Broken(Callback):
        def on_epoch_end(self, state: TrainingState) -> bool | None:
            if state.epoch == 2:
                raise RuntimeError("the callback is broken")
            return None

    settings = make_settings()
    with pytest.raises(RuntimeError, match="the callback is broken"):
        train(world(), settings, begin(world(), settings), [Witness("a", events), Broken()])
    assert events[-1] == ("a", "end", 2)


def test_nothing_is_done_when_all_epochs_are() -> None:
    events: list[Event] = []
    settings = make_settings(max_iter=2)
    done = train(world(), settings, begin(world(), settings))
    again = train(world(), settings, done, [Witness("a", events)])
    assert_same(again, done)
    assert events == [("a", "start", 2), ("a", "end", 2)]


# -- the progress bar ----------------------------------------------------------------------------


class Keeper(Callback):
    """Keeps the bars that are open, so that none is closed merely because nobody needs it."""

    def __init__(self) -> None:
        self.bars: list[tqdm] = []

    def on_epoch_end(self, state: TrainingState) -> None:
        self.bars = list(tqdm._instances)


def looking() -> ProgressBar:
    return ProgressBar("Looking").for_run(Part())


def test_the_bar_writes_to_stderr_and_closes(capsys) -> None:
    settings = make_settings(max_iter=4)
    keeper = Keeper()
    state = train(world(), settings, begin(world(), settings), [looking(), keeper])
    assert len(keeper.bars) == 1
    assert not tqdm._instances
    out, err = capsys.readouterr()
    assert out == ""
    last = err.split("\r")[-1]
    assert "Looking: 100%" in last
    assert "4/4" in last
    record = state.history[-1]
    for words in (
        f"validation={record.validation_objective:.4f}",
        f"best={state.best_objective:.4f}",
        f"size={record.expected_size:.1f}",
        f"models={record.n_models_trained}",
    ):
        assert words in last
    # The line is finished, so that what comes next starts a line of its own.
    assert err.endswith("\n")


def test_the_bar_says_when_something_is_compiled(capsys) -> None:
    class Compiling(Callback):
        """Stands for a kernel that is met for the first time while the first rounds are trained."""

        def on_prepare(self, settings: Settings) -> None:
            assert nb.njit(lambda x: x + 1)(1) == 2

        def on_start(self, settings: Settings, state: TrainingState) -> None:
            assert "Looking (compiling, once per machine):   0%" in capsys.readouterr().err

    bar = looking()
    settings = make_settings(max_iter=3)
    problem, rng = world(), np.random.default_rng(0)
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    solve(problem, settings, theta, rng, [bar, Compiling()])
    lines = capsys.readouterr().err.split("\r")
    assert lines[-1].startswith("Looking: 100%")
    assert "compiling" not in "".join(lines)
    # Outside a run there is nobody to tell.
    bar.on_compile()
    assert nb.njit(lambda x: x + 2)(1) == 3
    assert capsys.readouterr().err == ""


def test_the_bar_closes_when_the_first_rounds_fail(capsys) -> None:
    class Broken(Callback):
        def on_prepare(self, settings: Settings) -> None:
            assert len(tqdm._instances) == 1
            raise RuntimeError

    problem = world()
    theta = np.full((1, problem.distribution.n_parameters), 0.5)
    with pytest.raises(RuntimeError):
        start(
            problem,
            make_settings(),
            theta,
            np.random.default_rng(0),
            [ProgressBar().for_run(Part()), Broken()],
        )
    assert not tqdm._instances


def test_the_bar_goes_on_where_a_run_stopped(capsys) -> None:
    half = make_settings(max_iter=2)
    state = train(world(), half, begin(world(), half))
    train(world(), make_settings(max_iter=4), state, [ProgressBar().for_run(Part())])
    lines = capsys.readouterr().err.split("\r")
    assert "2/4" in "".join(lines[:2])
    assert "4/4" in lines[-1]


def test_the_bar_closes_when_something_breaks(capsys) -> None:
    class Broken(Keeper):
        def on_start(self, settings: Settings, state: TrainingState) -> None:
            self.on_epoch_end(state)
            raise RuntimeError

    settings = make_settings()
    # Whether the bar was opened before that or not.
    for n_open, order in ((1, 1), (0, -1)):
        broken = Broken()
        with pytest.raises(RuntimeError):
            train(
                world(),
                settings,
                begin(world(), settings),
                [ProgressBar().for_run(Part()), broken][::order],
            )
        assert len(broken.bars) == n_open
        assert not tqdm._instances


def test_the_bar_is_silent_outside_a_run(capsys) -> None:
    settings = make_settings(max_iter=1)
    state = train(world(), settings, begin(world(), settings))
    bar = ProgressBar().for_run(Part())
    bar.on_epoch_end(state)
    bar.on_end(state)
    assert capsys.readouterr() == ("", "")
