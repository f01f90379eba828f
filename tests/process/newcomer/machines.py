"""Machines with nothing of ours on them: a Debian made by debootstrap, and a Docker engine without images.

Everything lives in the namespaces of `network.py`, so the documentation's ports are free, and nothing stays.
"""

import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.process import environments
from tests.process.conftest import ROOT

SUITE = "bookworm"
CERTIFICATES = Path("/usr/local/share/ca-certificates")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOOT_SECONDS = 90.0
# Where a machine finds this commit and its package.
RELEASE = Path("/release")
REPOSITORY = "snoozer.git"
IMAGES = Path(__file__).parent / "images"
BASE_IMAGE = "docker.io/library/debian:12-slim"
PULL_SECONDS = 120


def run(*command: str | Path, **options: object) -> None:
    """Run a command of the preparation to its end; its output is shown only if it fails."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if ended.returncode:
        raise SystemExit(f"{shlex.join(map(str, command))} failed:\n{ended.stdout}{ended.stderr}")


def debian(folder: Path) -> Path:
    """A minimal Debian in this folder, made once."""
    base = folder / SUITE
    if not base.exists():
        draft = folder / f"{SUITE}.new"
        shutil.rmtree(draft, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, draft)
        # Where this machine trusts a certificate of its own, the new one cannot download without it.
        for certificate in CERTIFICATES.glob("*.crt"):
            shutil.copy(certificate, draft / CERTIFICATES.relative_to("/"))
        run("chroot", draft, "update-ca-certificates")
        draft.rename(base)
    return base


def release(folder: Path) -> Path:
    """A folder with the repository of this commit, and with its wheel."""
    made = folder / "release"
    run("git", "clone", "--quiet", "--bare", ROOT, made / REPOSITORY)
    (folder / "build").mkdir()
    shutil.copy(environments.build_wheel(folder / "build"), made)
    return made


@contextmanager
def machine(base: Path, *, release: Path, folder: Path, packages: Sequence[str]) -> Iterator[Path]:
    """The root of a machine with these Debian packages."""
    root, upper, work = (folder / name for name in ("root", "upper", "work"))
    for each in (root, upper, work):
        each.mkdir(parents=True)
    run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={base},upperdir={upper},workdir={work}", root)
    try:
        (root / "etc" / "pip.conf").write_text(f"[global]\nfind-links = {RELEASE}\n")
        shutil.copytree(release, root / RELEASE.relative_to("/"))
        run("chroot", root, "chown", "-R", "root:root", RELEASE)
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
        run(*nspawn(root), "--as-pid2", "apt-get", "update")
        run(*nspawn(root), "--as-pid2", "apt-get", "install", "-y", "--no-install-recommends", *packages)
        run("chroot", root, "useradd", "--create-home", "newcomer")
        yield root
    finally:
        run("umount", root)


def nspawn(root: Path) -> list[str | Path]:
    return [
        "systemd-nspawn",
        "--quiet",
        "--register=no",
        "--keep-unit",
        "--console=pipe",
        "--resolv-conf=copy-host",
        "-D",
        root,
    ]


@contextmanager
def booted(root: Path, *, log: Path) -> Iterator[int]:
    """The machine with its systemd as the first process, whose id is returned."""

    def is_up(pid: int) -> bool:
        init = _init_of(pid)
        return bool(init) and _is_up(init)

    with _started([*nspawn(root), "--boot"], is_up=is_up, log=log) as pid:
        yield _init_of(pid)


@contextmanager
def docker(base: Path, *, folder: Path, log: Path) -> Iterator[dict[str, str]]:
    """The environment in which `docker` speaks to a new engine, whose base image is there."""
    home, socket = folder / "home", folder / "docker.sock"
    home.mkdir(parents=True)
    places = (f"--data-root={folder / 'data'}", f"--exec-root={folder / 'exec'}", f"--pidfile={folder / 'pid'}")
    environment = {"PATH": PATH, "HOME": str(home), "DOCKER_HOST": f"unix://{socket}"}

    def is_up(pid: int) -> bool:
        return not subprocess.run(["docker", "info"], env=environment, capture_output=True, check=False).returncode

    with _started(["dockerd", *places, "-H", f"unix://{socket}"], is_up=is_up, log=log):
        yield environment


@contextmanager
def _started(command: Sequence[str | Path], *, is_up: Callable[[int], bool], log: Path) -> Iterator[int]:
    """The process id of this command once it is up; it ends with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        ends = time.monotonic() + BOOT_SECONDS
        while not is_up(process.pid):
            assert process.poll() is None and time.monotonic() < ends, log.read_text(errors="replace")
            time.sleep(0.2)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def pull(images: Sequence[str], *, base: Path, environment: Mapping[str, str]) -> list[str]:
    """Pull these images, or make what stands in for them; returns sentences that say so."""
    stood_in = []
    for image in images:
        pulled = ["timeout", str(PULL_SECONDS), "docker", "pull", "--quiet", image]
        if subprocess.run(pulled, env=dict(environment), capture_output=True, check=False).returncode == 0:
            continue
        if image == BASE_IMAGE:
            archive = subprocess.Popen(["tar", "-C", str(base), "-c", "."], stdout=subprocess.PIPE)
            run("docker", "import", "-c", 'CMD ["bash"]', "-", image, env=dict(environment), stdin=archive.stdout)
            stood_in.append(f"a debootstrap of {SUITE} for the image {image}")
        else:
            source = IMAGES / image.rpartition("/")[2].partition(":")[0]
            run("docker", "build", "-f", source / "Containerfile", "-t", image, source, env=dict(environment))
            stood_in.append(f"{source.relative_to(ROOT)} for the image {image}")
    return stood_in


def _init_of(pid: int) -> int:
    """The systemd that a nspawn started; 0 if there is none yet."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        names = {int(child): Path(f"/proc/{child}/comm").read_text().strip() for child in children}
    except OSError:
        return 0
    return next((child for child, name in names.items() if name == "systemd"), 0)


def _is_up(init: int) -> bool:
    asked = [*inside(init), "systemctl", "is-system-running"]
    state = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return state in {"running", "degraded"}


def inside(init: int) -> list[str]:
    """The first words of a command of root in a booted machine."""
    return ["nsenter", "--target", str(init), "--all", "env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8"]
