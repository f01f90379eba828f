"""Python environments as a host makes them: what one requirements file pins, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("snoozer", "templates", "locale", "static", "migrations", "docs")


def make(folder: Path, *, requirements: str = "requirements.txt") -> Path:
    """Returns the bin folder of a new environment that holds exactly the pinned distributions, and not Snoozer.

    They are linked from the environment of this test run. With SNOOZER_STORM set, pip installs them anew by their
    hashes, from the network.
    """
    downloads = bool(os.environ.get("SNOOZER_STORM"))
    venv.create(folder, with_pip=downloads, symlinks=True)
    programs = folder / "bin"
    if downloads:
        pip = [f"{programs}/python", "-m", "pip", "install", "-q", "--require-hashes", "-r", f"{ROOT}/{requirements}"]
        subprocess.run(pip, check=True)
        return programs
    [packages] = folder.glob("lib/python*/site-packages")
    for line in (ROOT / requirements).read_text().splitlines():
        pinned = re.match(r"([\w.-]+)==(\S+)", line)
        if pinned:
            _link(pinned[1], version=pinned[2], packages=packages, programs=programs)
    return programs


def install_wheel(programs: Path, *, into: Path) -> None:
    """Build the wheel of this checkout and install it, without its dependencies, into the environment of `programs`."""
    wheel = build_wheel(into)
    pip = [sys.executable, "-m", "pip", "--python", f"{programs}/python", "install", "-q", "--no-deps", "--no-index"]
    # A path that names this checkout would have pip find Snoozer installed already.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, str(wheel)], check=True, env=surroundings)


def build_wheel(into: Path) -> Path:
    """Build the wheel of this checkout in this folder, and return it."""
    copy = copy_sources(into / "checkout")  # A build writes to the folder of its sources.
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(into), str(copy)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = into.glob("*.whl")
    return wheel


def copy_sources(folder: Path) -> Path:
    """Copy what a build reads to this new folder, and return it."""
    for name in SOURCES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def _link(name: str, *, version: str, packages: Path, programs: Path) -> None:
    found = distribution(name)
    assert found.version == version, f"{name} is {found.version} here, and pinned to {version}"
    for file in found.files or ():
        source, target = Path(str(found.locate_file(file))), packages / file
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
        compiled = source.parent / "__pycache__"
        if file.suffix == ".py" and compiled.is_dir() and not (target.parent / "__pycache__").exists():
            (target.parent / "__pycache__").symlink_to(compiled)
    for script in found.entry_points.select(group="console_scripts"):
        path = programs / script.name
        path.write_text(
            f"#!{programs}/python\nimport sys\nfrom {script.module} import {script.attr}\nsys.exit({script.attr}())\n"
        )
        path.chmod(0o755)
