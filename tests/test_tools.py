"""The tools that draw the map of the house."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = '''"""A module.

Of two lines.
"""

# A comment.
TEXT = """Not a docstring,
but a value."""


def double(number):
    """Twice the number."""
    return (
        2 * number  # beside code
    )
'''


def test_docstrings_comments_and_blank_lines_are_not_code() -> None:
    assert tool("lines").code_lines(SOURCE) == 2 + 1 + 3


def test_lines_are_counted_by_package_at_two_times(tmp_path: Path) -> None:
    lines = tool("lines")
    for name in ("a.py", "room/b.py"):
        path = tmp_path / "src" / "randsub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE)
    counts = lines.count(tmp_path)
    assert counts == {"src/randsub": {".": 6, "room": 6}}
    printed = lines.table(counts, {"src/randsub": lines.Counter({"old": 1000})})
    rows = [row.split() for row in printed.splitlines() if row]
    assert rows[0] == ["before", "after"]
    assert ["src/randsub/old", "1,000", "0"] in rows
    assert rows[-1] == ["total", "1,000", "12"]


@pytest.fixture(scope="module")
def walk() -> ModuleType:
    return tool("walk")


def test_the_walk_of_a_fit_is_told_in_order(walk: ModuleType) -> None:
    fit = walk.problems()["PRSClassifier.fit"]()
    functions = [function for stay in fit.stays for function in stay.functions]
    of_loop = [stay.file for stay in fit.stays].index(
        next(f for f in fit.files if Path(f).name == walk.LOOP)
    )
    assert "BasePRS.fit" in functions
    assert 0 < of_loop < len(fit.stays) - 1
    # Every function once, and no call of a known function opens a file again.
    assert len({(s.file, f) for s in fit.stays for f in s.functions}) == len(functions)
    assert all(stay.functions for stay in fit.stays)
    again = {file for files in fit.visited_again().values() for file in files}
    assert again == {file for file in fit.files if sum(stay.file == file for stay in fit.stays) > 1}
    assert f"{len(fit.files) + len({s.file for s in fit.foundation})} files" in "\n".join(
        walk.summary(fit)
    )


def test_a_fit_enters_few_files_and_none_again(walk: ModuleType) -> None:
    fit = walk.problems()["PRSClassifier.fit"]()
    assert len(fit.files) + len({stay.file for stay in fit.foundation}) <= 45
    assert fit.visited_again()["visited again"] == []


@pytest.mark.parametrize("name", ["PRSClassifier.fit", "PRSClassifier.predict", "PRSNetwork.fit"])
def test_the_map_for_contributors_is_the_walk(walk: ModuleType, name: str) -> None:
    page = (TOOLS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split(f"### `{name}`\n\n")[1].split("\n\n")[0]
    shown = [line.split("`")[1] for line in section.splitlines()]
    assert shown == walk.problems()[name]().files


def test_a_stay_lasts_while_the_file_is_open(walk: ModuleType) -> None:
    path = walk.Walk()
    path._enter("a.py", "first")
    path._enter("b.py", "called")
    path._leave("b.py")
    path._enter("a.py", "second")
    path._leave("a.py")
    path._enter("c.py", "other")
    path._leave("c.py")
    path._enter("b.py", "called")
    path._leave("b.py")
    path._leave("a.py")
    path._enter("b.py", "new")
    stays = [(stay.file, stay.functions, stay.again) for stay in path.stays]
    assert stays == [
        ("a.py", ["first", "second"], False),
        ("b.py", ["called"], False),
        ("c.py", ["other"], False),
        ("b.py", ["new"], True),
    ]
    assert path.visited_again()["visited again"] == ["b.py"]


def test_an_unknown_walk_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOLS / "walk.py"), "fit"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no walk is called 'fit'; choose from PRSClassifier.fit" in done.stderr


def test_files_have_at_most_450_lines() -> None:
    root = TOOLS.parent
    sources = [*(root / "src").rglob("*.py"), *(root / "experiments" / "src").rglob("*.py")]
    assert len(sources) > 100
    long = {
        str(path.relative_to(root)): n
        for path in sources
        if (n := len(path.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert not long


def test_lowest_versions_are_those_of_the_project():
    lowest = tool("lowest").lowest
    project = {
        "project": {"dependencies": ["numpy>=1.26", "joblib>=1.3"]},
        "dependency-groups": {"test": ["joblib>=1.10", "pytest>=9.0"]},
    }
    # As numbers, not as text.
    assert lowest(project) == {"numpy": "1.26", "joblib": "1.10", "pytest": "9.0"}
    project["project"]["dependencies"].append("scipy")
    with pytest.raises(ValueError, match="'scipy' has no lower bound"):
        lowest(project)


def test_the_example_of_a_stranger_is_that_of_the_readme():
    example = tool("try_dist").example()
    assert "PRSRegressor(KNeighborsRegressor()" in example
    compile(example, "README.md", "exec")


FORMER_ROWS = (
    "setting,base,seed,score,seconds\na,knn,0,0.5,1.0\na,knn,1,0.25,1.0\nb,knn,0,0.75,9.0\n"
)


def test_numbers_that_have_changed_are_named(tmp_path: Path) -> None:
    figures = tool("figures")
    committed, new = tmp_path / "committed.csv", tmp_path / "new.csv"
    committed.write_text(FORMER_ROWS)
    keys = ("setting", "base", "seed")
    study = figures.Study(committed, keys, ("score",), ("setting",), lambda *given: [])
    assert [len(rows) for rows in study.pieces()] == [2, 1]
    assert figures.changed(study, new) == (0, [])
    # Another time is no change, nor is a rounding error; a row that was not there is not compared.
    new.write_text(
        "setting,base,seed,score,seconds\na,knn,0,0.5000000000000001,2.0\na,knn,1,0.26,1.0\nc,knn,0,1,1\n"
    )
    assert figures.changed(study, new) == (2, ["a, knn, 1: score 0.25 -> 0.26"])


@pytest.mark.parametrize(("share", "count"), [(1.0, 10), (0.25, 2), (0.0, 1)])
def test_a_share_of_the_pieces_is_drawn_again_by_its_seed(share: float, count: int) -> None:
    figures = tool("figures")
    pieces = [[{"seed": str(number)}] for number in range(10)]
    drawn = [*figures.drawn(pieces, share, 0)]
    assert len(drawn) == len({rows[0]["seed"] for rows in drawn}) == count
    assert drawn == [*figures.drawn(pieces, share, 0)]


def test_every_study_has_commands_for_all_of_its_rows(tmp_path: Path) -> None:
    figures = tool("figures")
    for name, study in figures.STUDIES.items():
        assert {*study.keys, *study.measures} <= {*study.pieces()[0][0]}, name
        for rows in study.pieces():
            commands = study.commands(rows, tmp_path / "new.csv", tmp_path)
            assert commands or rows[0]["method"] == "former", name
            for command in commands:
                assert command[0] == "-m" or (figures.REPOSITORY / command[0]).is_file(), name


def test_a_study_that_is_run_again_has_the_same_numbers(tmp_path: Path, capfd) -> None:
    figures = tool("figures")
    committed = tmp_path / "committed.csv"
    committed.write_text("setting,base,seed,score\na,knn,0,0.5\n")

    scores = iter([0.5, 0.75])

    def commands(rows, new, data):
        text = f"setting,base,seed,score\\na,knn,0,{next(scores)}"
        return [["-c", f"open({str(new)!r}, 'w').write('{text}')"]]

    keys = ("setting", "base", "seed")
    figures.STUDIES["made up"] = figures.Study(committed, keys, ("score",), ("setting",), commands)
    args = figures.argparse.Namespace(
        output=tmp_path / "new", data=None, share=1.0, seed=0, minutes=1.0, verbose=False
    )
    args.output.mkdir()
    assert figures.run_again("made up", args)
    assert not figures.run_again("made up", args)
    told = capfd.readouterr().out
    assert "made up: 1 of 1 rows again, all numbers are equal" in told
    assert "a, knn, 0: score 0.5 -> 0.75" in told
