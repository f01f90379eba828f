"""Namespaces for one run: its ports, mounts and processes are its own, its way out is that of this machine.

Every process inside ends with the run, for any reason.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "newcomer"
INSIDE = "NEWCOMER_INSIDE"
NETWORK, OUTSIDE, ADDRESS = "10.213.77.0/30", "10.213.77.1/30", "10.213.77.2/30"
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_RULES = (
    ("nat", "POSTROUTING", "-s", NETWORK, "!", "-d", NETWORK, "-j", "MASQUERADE"),
    ("filter", "FORWARD", "-s", NETWORK, "-j", "ACCEPT"),
    ("filter", "FORWARD", "-d", NETWORK, "-j", "ACCEPT"),
)
_ENTER = (
    *("nsenter", f"--net=/run/netns/{NAME}"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
)


def is_inside() -> bool:
    return INSIDE in os.environ


def run_inside(module: str, arguments: Sequence[str]) -> int:
    """Run this module again in new namespaces, and return its exit code."""
    _close()
    try:
        _open()
        again = [*_ENTER, sys.executable, "-m", module, *arguments]
        return subprocess.run(again, env=os.environ | {INSIDE: "1"}, check=False).returncode
    finally:
        _close()


def _open() -> None:
    if FORWARDING.read_text().strip() != "1":
        raise SystemExit("The machines need a way out: sysctl net.ipv4.ip_forward=1")
    _ip("netns", "add", NAME)
    _ip("link", "add", NAME, "type", "veth", "peer", "name", "eth0", "netns", NAME)
    _ip("address", "add", OUTSIDE, "dev", NAME)
    _ip("link", "set", NAME, "up")
    for command in (
        ("address", "add", ADDRESS, "dev", "eth0"),
        ("link", "set", "eth0", "up"),
        ("link", "set", "lo", "up"),
    ):
        _ip("-n", NAME, *command)
    _ip("-n", NAME, "route", "add", "default", "via", OUTSIDE.partition("/")[0])
    for table, chain, *rule in _RULES:
        subprocess.run(["iptables", "-t", table, "-I", chain, *rule], check=True)


def _close() -> None:
    """Also what a run left that was killed."""
    for table, chain, *rule in _RULES:
        subprocess.run(["iptables", "-t", table, "-D", chain, *rule], check=False, capture_output=True)
    for command in (("netns", "delete", NAME), ("link", "delete", NAME)):
        subprocess.run(["ip", *command], check=False, capture_output=True)


def _ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True)
