"""The chart as helm renders it with each of its value sets, and the example generated from the chart."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHART = ROOT / "charts/memory-service"
EXAMPLE = ROOT / "examples/kubernetes/memory-service.yaml"
HELM = os.environ["HELM"]
VALUE_SETS = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").iterdir())
# The oldest version that the chart supports, one in between, and the newest.
VERSIONS = ["1.25", "1.31", "1.37"]
OF_THE_OPERATOR = {"ServiceMonitor", "PrometheusRule"}

Manifest = dict[str, Any]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)


def template(values: str, *more: str, version: str = "1.31") -> subprocess.CompletedProcess[str]:
    chosen = CHART / f"ci/{values}-values.yaml"
    return helm("template", "memory-service", str(CHART), "-f", str(chosen), "--kube-version", version, *more)


@cache
def rendered(values: str, version: str = "1.31") -> list[Manifest]:
    result = template(values, version=version)
    assert result.returncode == 0, result.stderr
    return [manifest for manifest in yaml.safe_load_all(result.stdout) if manifest is not None]


def the(kind: str, values: str) -> Manifest:
    [found] = [each for each in rendered(values) if each["kind"] == kind]
    return found


def kinds(values: str) -> list[str]:
    return sorted(manifest["kind"] for manifest in rendered(values))


def rejection(*settings: str) -> str:
    result = template("default", *(part for setting in settings for part in ("--set-json", setting)))
    assert result.returncode != 0, f"{settings} was accepted"
    return result.stderr


def pod(values: str) -> Manifest:
    spec: Manifest = the("Deployment", values)["spec"]["template"]["spec"]
    return spec


def environment(values: str) -> dict[str, Any]:
    [container] = pod(values)["containers"]
    return {each["name"]: each.get("value") for each in container["env"]}


def test_the_chart_has_five_value_sets() -> None:
    assert VALUE_SETS == ["citus", "control-plane", "default", "kubectl", "production"]


@pytest.mark.parametrize("values", VALUE_SETS)
def test_lint_accepts_the_value_set(values: str) -> None:
    chosen = str(CHART / f"ci/{values}-values.yaml")
    result = helm("lint", "--strict", "--kube-version", "1.31", str(CHART), "-f", chosen)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", VALUE_SETS)
def test_manifests_match_the_schemas_of_kubernetes(values: str, version: str) -> None:
    manifests = [each for each in rendered(values, version) if each["kind"] not in OF_THE_OPERATOR]
    assert len(manifests) >= 4
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_the_schemas_reject_mistakes() -> None:
    broken = json.loads(json.dumps(the("Deployment", "default")))
    broken["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.31", strict=True)


def test_manifests_match_the_schemas_of_the_prometheus_operator() -> None:
    resources = [each for each in rendered("production") if each["kind"] in OF_THE_OPERATOR]
    assert sorted(each["kind"] for each in resources) == ["PrometheusRule", "ServiceMonitor"]
    subprocess.run(["node", "operator_resource.js"], cwd=HERE, input=json.dumps(resources), text=True, check=True)


def test_default_values_render_the_expected_resources() -> None:
    assert kinds("default") == ["Deployment", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service"]
    assert the("Deployment", "default")["spec"]["replicas"] == 2
    assert environment("default")["ADMIN_HOST"] == "127.0.0.1"


def test_the_admin_port_is_not_exposed_by_default() -> None:
    for values in ["default", "production"]:
        assert the("Service", values)["spec"]["ports"] == [
            {"name": "http", "port": 80, "targetPort": "http"},
        ]
        ports = [port["port"] for rule in the("NetworkPolicy", values)["spec"]["ingress"] for port in rule["ports"]]
        assert ports == [8080]
    assert "8081" not in json.dumps(the("Ingress", "production"))


def test_an_exposed_admin_port_accepts_only_named_peers() -> None:
    assert environment("control-plane")["ADMIN_HOST"] == "0.0.0.0"
    rules = the("NetworkPolicy", "control-plane")["spec"]["ingress"]
    assert rules[1] == {
        "ports": [{"protocol": "TCP", "port": 8081}],
        "from": [{"podSelector": {"matchLabels": {"app": "control-plane"}}}],
    }
    assert "minItems" in rejection("admin.expose={'enabled':true}".replace("'", '"'))
    exposed = 'admin.expose={"enabled":true,"from":[{"podSelector":{}}]}'
    assert "networkPolicy" in rejection(exposed, "networkPolicy.enabled=false")


def test_the_ingress_routes_exactly_the_paths_of_the_api() -> None:
    rules = the("Ingress", "production")["spec"]["rules"]
    paths = [path["path"] for path in rules[0]["http"]["paths"]]
    of_the_api = list(yaml.safe_load((ROOT / "openapi.yaml").read_text())["paths"])
    probes = {"/healthz", "/readyz", "/metrics"}
    left_out = {path for path in of_the_api if not any((path + "/").startswith(f"{each}/") for each in paths)}
    assert left_out == probes
    for path in ["/", "/metrics"]:
        assert "ingress" in rejection("ingress.paths=" + json.dumps([path]))


def test_every_container_is_unprivileged() -> None:
    for values in VALUE_SETS:
        for manifest in rendered(values):
            spec = manifest.get("spec", {}).get("template", {}).get("spec")
            if spec is None:
                continue
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert spec["automountServiceAccountToken"] is False
            for container in spec.get("initContainers", []) + spec["containers"]:
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                }
                assert container["resources"]["limits"]["memory"]


def test_each_selector_matches_its_pods() -> None:
    labels = the("Deployment", "production")["spec"]["template"]["metadata"]["labels"]
    of_the_job = the("Job", "production")["spec"]["template"]["metadata"]["labels"]

    def finds(selector: dict[str, str], pod_labels: dict[str, str]) -> bool:
        return selector.items() <= pod_labels.items()

    service = the("Service", "production")
    budget = the("PodDisruptionBudget", "production")["spec"]["selector"]["matchLabels"]
    policy = the("NetworkPolicy", "production")["spec"]["podSelector"]["matchLabels"]
    for selector in [service["spec"]["selector"], budget]:
        assert finds(selector, labels)
        assert not finds(selector, of_the_job)
    assert finds(policy, labels)
    assert finds(policy, of_the_job)
    monitor = the("ServiceMonitor", "production")["spec"]
    assert finds(monitor["selector"]["matchLabels"], service["metadata"]["labels"])
    # The alerts contain the job name from the metrics.
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "memory-service"


def test_migrations_run_in_a_job_or_an_init_container() -> None:
    job = the("Job", "citus")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["migrate"]
    url = {"name": "memory-citus", "key": "COORDINATOR_URL"}
    assert container["env"] == [{"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": url}}]
    assert [each["name"] for each in pod("kubectl")["initContainers"]] == ["migrate"]
    assert "Job" not in kinds("kubectl") + kinds("control-plane")


def test_shutdown_times_fit_the_longest_request_and_the_grace_period() -> None:
    seconds = {
        name: int(environment("default")[f"SHUTDOWN_{name}_MS"].removesuffix("s")) for name in ["DELAY", "TIMEOUT"]
    }
    # The longest request takes MAX_QUEUE_MS plus HANDLER_TIMEOUT_MS.
    assert seconds["TIMEOUT"] >= seconds["DELAY"] + 21
    assert pod("default")["terminationGracePeriodSeconds"] > seconds["TIMEOUT"]


def test_autoscaling_omits_the_number_of_replicas() -> None:
    assert "replicas" not in the("Deployment", "production")["spec"]
    assert the("HorizontalPodAutoscaler", "production")["spec"]["minReplicas"] == 2


def test_invalid_values_are_rejected() -> None:
    assert "replica" in rejection("replica=3")
    assert "config" in rejection("config.MAX_TENANT_BYTES=104857600")
    assert "PORT" in rejection('config.PORT="9000"')
    assert "existingSecret" in rejection('database.existingSecret=""')
    assert "1.24" in template("default", version="1.24").stderr


def test_alerts_equal_the_monitoring_example() -> None:
    alerts = (ROOT / "examples/monitoring/alerts.yaml").read_text()
    assert (CHART / "files/alerts.yaml").read_text() == alerts
    assert the("PrometheusRule", "production")["spec"] == yaml.safe_load(alerts)


def test_the_chart_has_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert [chart["version"], chart["appVersion"]] == [version, version]


HEAD = """\
# memory-service on Kubernetes, for kubectl apply, on a Postgres that you run elsewhere. README.md has the steps.
# Made from charts/memory-service by test/kubernetes/run --update.
apiVersion: v1
kind: Secret
metadata:
  name: memory-service-database
stringData:
  DATABASE_URL: postgres://memory:CHANGE-ME@postgres:5432/memory
"""


def example() -> str:
    manifests = template("kubectl").stdout
    lines = [line for line in manifests.splitlines() if not line.strip().startswith(("helm.sh/chart:", "# Source:"))]
    return HEAD + "\n".join(lines).replace("managed-by: Helm", "managed-by: kubectl") + "\n"


def test_the_example_is_generated_from_the_chart() -> None:
    assert EXAMPLE.read_text() == example()
    for manifest in yaml.safe_load_all(EXAMPLE.read_text()):
        kubernetes_validate.validate(manifest, "1.31", strict=True)


if __name__ == "__main__":
    (CHART / "files/alerts.yaml").write_text((ROOT / "examples/monitoring/alerts.yaml").read_text())
    EXAMPLE.write_text(example())
