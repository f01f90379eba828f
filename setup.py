"""The packages of the wheel; everything else is in pyproject.toml, which cannot both find packages and add folders."""

from setuptools import find_packages, setup

FOLDERS = ("templates", "locale", "static", "migrations", "docs")

setup(
    packages=[*find_packages(include=["snoozer", "snoozer.*"]), *(f"snoozer.{folder}" for folder in FOLDERS)],
    package_dir={"snoozer": "snoozer", **{f"snoozer.{folder}": folder for folder in FOLDERS}},
)
