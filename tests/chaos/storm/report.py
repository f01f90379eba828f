"""verdict.json: what each scene of a storm did, what the judge found, on which commit, from which seed.

`valid`: the promise was kept. `passed`: and what the scene's test asks for beyond that was so (no duplicate at all, a
bound of time, a number of connections); `exceeded` names bounds of silence and lateness that were not kept.
"""

import json
import os
import platform
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.chaos.storm.judge import Verdict
from tests.process.conftest import ROOT

SUMMED = (
    *("attempted", "acked", "delivered", "recovered", "lost", "cases", "duplicated", "copies", "unmarked"),
    *("differing", "forged", "unexpected", "wrong", "uncertain", "late", "cancelled", "edited"),
)


@dataclass
class Report:
    seed: int
    full: bool
    began: float = field(default_factory=time.time)
    scenes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(
        self, scene: str, *, strikes: dict[str, int], seconds: float, verdict: Verdict | None = None, **more: Any
    ) -> None:
        found = verdict.as_json() if verdict else {}
        self.note(scene, strikes=strikes, seconds=round(seconds, 1), **more, **found)

    def note(self, scene: str, **facts: Any) -> None:
        """Something that only this scene measures."""
        self.scenes.setdefault(scene, {}).update(facts)

    def as_json(self) -> dict[str, Any]:
        judged = [scene for scene in self.scenes.values() if "valid" in scene]
        return {
            "valid": all(scene["valid"] for scene in judged),
            "passed": all(scene.get("passed", False) for scene in self.scenes.values()),
            "seed": self.seed,
            "commit": _git("rev-parse", "HEAD") or os.environ.get("SNOOZER_STORM_COMMIT", "unknown"),
            "changed_since_commit": bool(_git("status", "--porcelain", "--", "snoozer", "migrations", "templates")),
            "full": self.full,
            "began": datetime.fromtimestamp(self.began, UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self.began),
            "machine": f"{os.cpu_count()} cores, {platform.platform(terse=True)}, Python {platform.python_version()}",
            "total": {name: sum(scene[name] for scene in judged) for name in SUMMED},
            "scenes": self.scenes,
        }

    def summary(self) -> str:
        """A line a scene, for people."""
        lines = [
            f"{name:60} attempted {scene['attempted']:6}  lost {scene['lost']}  duplicated {scene['duplicated']:4}  "
            f"unmarked {scene['unmarked']}  wrong {scene['wrong'] + scene['unexpected']}  "
            f"uncertain {scene['uncertain']:4}  silence {scene['silence']:5.1f} s  "
            f"kill to mail {_figures(scene['recovery']['mailed'])}"
            for name, scene in self.scenes.items()
            if "valid" in scene
        ]
        whole = self.as_json()
        valid, passed = ("valid" if whole["valid"] else "NOT VALID"), ("passed" if whole["passed"] else "NOT PASSED")
        return "\n".join([*lines, f"seed {self.seed}: {valid}, {passed}"])

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")


def _figures(seconds: dict[str, float]) -> str:
    return " / ".join(f"{seconds[name]:.1f}" for name in ("p50", "p99", "max")) + " s" if seconds else "-"


def _git(*command: str) -> str:
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
