"""What a newcomer meets first: names, version, import contract, command table, files of the project alone."""

import ast
import dataclasses
import re
import shutil
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import dualwm
from dualwm.cli.main import VERBS, Verb

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IS_CHECKOUT = (ROOT / "README.md").exists()
needs_checkout = pytest.mark.skipif(not IS_CHECKOUT, reason="reads README and others: run it in a checkout")
existing_verbs = [pytest.param(verb, id=verb.name) for verb in VERBS if verb.exists]


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )


# Public names


@pytest.mark.parametrize("name", [name for name in dualwm.__all__ if name != "__version__"])
def test_every_public_name_exists_and_is_documented_by_hand(name: str):
    assert getattr(dualwm, name) is not None
    doc = getattr(import_module(dualwm._HOMES[name]), name).__doc__
    assert doc
    assert len(doc) > 20
    assert not doc.startswith(f"{name}("), "that is the docstring a dataclass makes up"


def test_type_checkers_see_the_same_public_names_as_the_interpreter():
    tree = ast.parse(Path(dualwm.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == dualwm._HOMES


def test_importing_the_package_or_its_command_imports_nothing_heavy():
    heavy = ("torch", "numpy", "tyro", "rich", "gymnasium", "PIL")
    code = f"import sys, dualwm, dualwm.cli.main; print([m for m in {heavy} if m in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dualwm.no_such_name


def test_dir_lists_the_public_names():
    assert set(dualwm.__all__) <= set(dir(dualwm))


def test_evaluate_is_a_room_and_a_function_whatever_is_imported_first():
    said = "import types; zoo = types.ModuleType('zoo'); zoo.evaluate = lambda *a, **k: (a, k); "
    said += "import sys; sys.modules['zoo'] = zoo; import dualwm; dualwm._HOMES['evaluate'] = 'zoo'; "
    told = "print(dualwm.evaluate(1, b=2)); "
    told += "import dualwm.evaluate.tasks as t; print(t.__name__, t is dualwm.evaluate.tasks)"
    expected = ["((1,), {'b': 2})", "dualwm.evaluate.tasks True"]
    for first in ("", "import dualwm.evaluate.tasks; ", "from dualwm.evaluate import tasks; "):
        done = python("-c", said + first + told)
        assert done.stdout.splitlines() == expected, done.stderr


# The import contract and the version


def test_every_module_has_its_layer_in_the_import_contract():
    (contract,) = PYPROJECT["tool"]["importlinter"]["contracts"]
    assert contract["exhaustive"] is True
    assert "ignore_imports" not in contract
    named = {room for layer in contract["layers"] for room in re.split(r"\s*[|:]\s*", layer)}
    package = Path(dualwm.__file__).parent
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} == named


def test_the_version_is_written_in_one_place():
    assert "version" in PYPROJECT["project"]["dynamic"]
    assert "version" not in PYPROJECT["project"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/dualwm/__init__.py"
    package = Path(dualwm.__file__).parent
    holding = [path.name for path in package.rglob("*.py") if f'"{dualwm.__version__}"' in path.read_text()]
    assert holding == ["__init__.py"]


@needs_checkout
def test_everything_the_package_asks_for_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    for pin in pins:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", pin), f"{pin}: name==version, no local tag or address"
    pinned = {_bare(pin) for pin in pins}
    assert len(pinned) == len(pins)
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["dev"] + extras["mujoco"] + PYPROJECT["build-system"]["requires"]
    assert {_bare(line) for line in wanted} - {project["name"]} <= pinned


def _bare(requirement: str) -> str:
    return re.split(r"[\[=<>!;~ ]", requirement)[0].lower().replace("_", "-")


# The command


def test_help_answers_in_under_half_a_second():
    seconds: list[float] = []
    while len(seconds) < 3 or (min(seconds) > 0.5 and len(seconds) < 10):
        begun = time.perf_counter()
        done = python("-m", "dualwm", "--help")
        seconds.append(time.perf_counter() - begun)
        assert done.returncode == 0
        assert "doctor" in done.stdout
    assert min(seconds) < 0.5, f"the quickest of {len(seconds)} runs took {min(seconds):.2f} s"


@pytest.mark.parametrize("verb", existing_verbs)
def test_every_verb_takes_a_frozen_record_with_json(verb: Verb):
    args_class, run = verb.load()
    assert callable(run)
    assert dataclasses.is_dataclass(args_class)
    assert args_class.__dataclass_params__.frozen
    assert {field.name: field.default for field in dataclasses.fields(args_class)}.get("json") is False


@pytest.mark.parametrize("verb", existing_verbs)
def test_help_of_every_verb_imports_no_torch_and_documents_every_option(verb: Verb):
    code = (
        "import sys; from dualwm.cli.main import main\n"
        f"try: main({[*verb.name.split(), '--help']})\n"
        "except SystemExit as done: sys.exit(done.code or 70 * ('torch' in sys.modules))"
    )
    done = python("-c", code)
    assert done.returncode != 70, "torch was imported: move that import into the function that needs it"
    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout
    args_class, _ = verb.load()
    assert args_class.__doc__
    assert not args_class.__doc__.startswith(args_class.__name__ + "(")


def test_verb_names_are_unique_and_their_help_is_one_sentence_or_two():
    assert len({verb.name for verb in VERBS}) == len(VERBS)
    for verb in VERBS:
        assert verb.help.endswith(".")
        assert len(verb.help) < 100


def test_every_module_of_the_command_is_in_the_table():
    folder = Path(dualwm.__file__).parent / "cli"
    with_arguments = {
        path.stem for path in folder.glob("*.py") if re.search(r"^class \w*Args\b", path.read_text(), re.M)
    }
    assert with_arguments <= {verb.module.split(".")[-1] for verb in VERBS}


# The papers around the code

_MACHINE_PATH = re.compile(
    r"(?<![\w./:$~{}\])-])/(?:home|root|Users|mnt|opt|srv|work|workspace|scratch)/\w|[A-Z]:\\+Users"
)


@needs_checkout
def test_tracked_files_name_no_path_of_any_machine():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone, to know which files are tracked")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    told: list[str] = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve() or path.stat().st_size > 4_000_000:
            continue
        data = path.read_bytes()
        if b"\0" in data[:4096]:
            continue
        lines = data.decode(errors="replace").splitlines()
        told += [f"{name}:{n}: {line.strip()[:80]}" for n, line in enumerate(lines, 1) if _MACHINE_PATH.search(line)]
    assert not told, "\n".join(told)


def test_the_path_pattern_knows_a_machine_path_from_an_address():
    assert _MACHINE_PATH.search('open("/home/me/x")')
    assert _MACHINE_PATH.search("see /root/x")
    assert not _MACHINE_PATH.search("https://example.org/home/x and docs/work/x and ../opt/x")


@needs_checkout
@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_into_the_repository_lead_somewhere(name: str):
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", (ROOT / name).read_text())
    missing = [link for link in links if not link.startswith("http") and not (ROOT / link).exists()]
    assert not missing


@needs_checkout
def test_readme_has_one_results_block_and_draws_every_room():
    readme = (ROOT / "README.md").read_text()
    assert readme.count("<!-- results:begin -->") == readme.count("<!-- results:end -->") == 1
    assert readme.index("<!-- results:begin -->") < readme.index("<!-- results:end -->")
    for room in (path.parent.name for path in Path(dualwm.__file__).parent.glob("*/__init__.py")):
        assert f"{room}/ " in readme, f"README's tree lacks {room}/"


@needs_checkout
def test_readme_uses_only_public_names():
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(example.splitlines()) <= 12
    tree = ast.parse(example)
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dualwm"
    }
    assert used
    assert used <= set(dualwm.__all__)


@needs_checkout
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_ci_script_is_executable_and_parses():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
