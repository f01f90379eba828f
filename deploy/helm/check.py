"""Lint the chart, render it with several values, and check what comes out: `make helm` runs it.

Helm's own Go code does the first two (helm-python-sdk has it as a library), the schemas of Kubernetes the last. No
cluster is asked, and the resource of CloudNativePG has no schema here.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import yaml

CHART = Path(__file__).parent / "snoozer"
KUBERNETES = ("1.25", "1.37")
NEEDED = {"baseUrl": "https://snooze.example.org", "mailFrom": "Snoozer <snoozer@example.org>"}
VALUES: dict[str, dict[str, Any]] = {
    "external database": NEEDED,
    "CloudNativePG": NEEDED | {"cloudnativepg": {"cluster": "snoozer-db", "create": True}},
    "everything": NEEDED
    | {
        "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "snooze-tls"},
        "imagePullSecrets": [{"name": "registry"}],
        "settings": {"SNOOZER_LOG_FORMAT": "text", "SNOOZER_LEASE_SECONDS": 90},
        "worker": {"storageClass": "fast", "resources": {"requests": {"memory": "200Mi"}}},
    },
}
PROCESSES = {"web", "worker", "clock", "inbound", "mailbox", "migrate"}


def problems() -> Iterator[str]:
    with helm_python.Chart.load(str(CHART)) as chart:
        for name, values in VALUES.items():
            report = helm_python.lint(str(CHART), values, strict=True)
            yield from (f"{name}: {error}" for error in report["errors"])
            texts = chart.render(values, name="snoozer", namespace="snoozer")
            found = [one for file, text in texts.items() if file.endswith(".yaml") for one in yaml.safe_load_all(text)]
            yield from (f"{name}: {problem}" for problem in of_manifests([one for one in found if one]))
        for missing in NEEDED:
            try:
                chart.render({key: value for key, value in NEEDED.items() if key != missing}, name="snoozer")
                yield f"without {missing} it renders"
            except helm_python.HelmRenderError:
                pass


def of_manifests(manifests: list[dict[str, Any]]) -> Iterator[str]:
    pods = {}
    for one in manifests:
        where = f"{one['kind']} {one['metadata']['name']}"
        if one["apiVersion"].startswith("postgresql.cnpg.io"):
            continue
        for version in KUBERNETES:
            try:
                kubernetes_validate.validate(one, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{where}, Kubernetes {version}: {error.message}"
        template = one["spec"].get("template")
        if template:
            pods[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template["spec"]
    if pods.keys() != PROCESSES:
        yield f"its processes are {sorted(pods)}"
    for process, pod in pods.items():
        [container] = pod["containers"]
        rights = container["securityContext"]
        if not (pod["securityContext"]["runAsNonRoot"] and rights["readOnlyRootFilesystem"]):
            yield f"{process} is root, or may write to its root"
        if rights["allowPrivilegeEscalation"] or rights["capabilities"] != {"drop": ["ALL"]}:
            yield f"{process} has rights"
        probe = container.get("startupProbe", {}).get("exec", {}).get("command")
        if process != "migrate" and probe != ["snoozer", "health", process]:
            yield f"{process} is not asked for its health"
        volumes = {volume["name"] for volume in pod["volumes"]}
        if process == "worker" and volumes != {"tmp"}:
            yield "a worker's journal ends with its pod"


if __name__ == "__main__":
    found = list(problems())
    right = f"The chart is right: {len(VALUES)} sets of values, Kubernetes {' and '.join(KUBERNETES)}."
    sys.stdout.write("\n".join([*found, "" if found else right, ""]))
    sys.exit(bool(found))
