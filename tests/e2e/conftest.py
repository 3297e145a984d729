"""Running what is installed. Nothing here needs the checkout, except the fixtures of the tests that build wheels."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PATIENCE = 110  # seconds; less than the time limit of a test


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout, which must be one JSON document and nothing else."""
        return json.loads(self.out)


def execute(*words: str | Path, cwd: Path, **variables: str) -> Done:
    """Run a program in a folder that is its home too, without switches from outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DSHHOOKS_", "PYTHONPATH"))}
    env = {**kept, "HOME": str(cwd), **variables}
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


@pytest.fixture
def folder(tmp_path):
    """An empty folder to work in."""
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def dshhooks(folder):
    """The installed command line, run in the folder."""

    def run(*words: str, **variables: str) -> Done:
        inherited = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        return execute(sys.executable, "-P", "-m", "dshhooks.cli", *words, cwd=folder, **inherited, **variables)

    return run


class Lab:
    """A fresh environment with nothing in it but dshhooks, its dependencies, and a plugin somebody else has built."""

    def __init__(self, root: Path, checkout: Path) -> None:
        self.root, self.checkout = root, checkout
        self.python = root / "env" / "bin" / "python"
        self.wheels = root / "wheels"

    execute = staticmethod(execute)

    def prepare(self) -> Lab:
        """Make the environment, build the wheels of dshhooks and of a scaffolded plugin, and install them."""
        self._run(sys.executable, "-m", "venv", "--without-pip", self.root / "env")
        self._copy_dependencies("dshhooks", "pytest")
        self._run(sys.executable, "-P", "-m", "dshhooks.cli", "plugins", "new", "no-friday", "--dir", self.root)
        for project in (self.checkout, self.root / "no-friday"):
            self._build(project)
        self.pip("install", "--no-deps", *sorted(self.wheels.glob("*.whl")))
        return self

    def pip(self, verb: str, *words: str | Path) -> None:
        """Run pip on the environment, without a network."""
        options = ["--no-index"] if verb == "install" else ["--yes"]
        self._run(sys.executable, "-m", "pip", "--python", self.python, verb, "--quiet", *options, *words)

    def run(self, *words: str, cwd: Path, **variables: str) -> Done:
        """Run the environment's own dshhooks."""
        return execute(self.python.with_name("dshhooks"), *words, cwd=cwd, **variables)

    def _build(self, project: Path) -> None:
        isolation = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
        self._run(sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", self.wheels, project)

    def _copy_dependencies(self, *names: str) -> None:
        """Copy what these need from here, file by file as their RECORD says: an installation without a network."""
        from packaging.requirements import Requirement

        [target] = (self.root / "env" / "lib").glob("python*/site-packages")
        todo, done = [Requirement(name) for name in names], {"dshhooks"}
        while todo:
            wanted = todo.pop()
            found = distribution(wanted.name)
            requires = map(Requirement, found.requires or ())
            todo += [need for need in requires if not need.marker or need.marker.evaluate({"extra": ""})]
            if wanted.name not in done:
                done.add(wanted.name)
                for file in found.files or ():
                    if ".." not in file.parts and "__pycache__" not in file.parts:
                        (target / file).parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy(file.locate(), target / file)

    def _run(self, *words: str | Path) -> None:
        done = execute(*words, cwd=self.root)
        assert done.code == 0, f"{' '.join(map(str, words))}\n{done.out}{done.err}"


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """The fresh environment, made once."""
    checkout = Path(__file__).parent.parent.parent
    if not (checkout / "pyproject.toml").is_file():
        pytest.skip("wheels are built from the checkout")
    return Lab(tmp_path_factory.mktemp("lab"), checkout).prepare()
