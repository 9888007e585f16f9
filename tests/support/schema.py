"""The JSON Schemas of docs/schema, and a validator for them in .deps/schema, installed on demand.

    problems(document)           why a document does not keep docs/schema/report.schema.json; empty: it does
    problems(line, "journal")    likewise, of another schema
"""
import functools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".deps/schema"
WANTED = ["jsonschema==4.26.0", "attrs==26.1.0", "jsonschema-specifications==2025.9.1", "referencing==0.37.0",
          "rpds-py==2026.9.1"]
FOR_KUBERNETES = ["kubernetes-validate==1.37.0", "pyyaml==6.0.3", "importlib-resources==7.1.0"]


def prepare(wanted: list[str] = WANTED, name: str = "packages") -> None:
    """Installs the validator; a stamp makes repeating it free."""
    packages, stamp, wants = FOLDER / name, FOLDER / f"{name}.stamp", "\n".join([sys.version, *wanted])
    if not stamp.is_file() or stamp.read_text() != wants:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary", ":all:", "--upgrade", "--target", str(packages), *wanted],
                       check=True, capture_output=True)
        stamp.write_text(wants)
    if str(packages) not in sys.path:
        sys.path.append(str(packages))


def kubernetes_problem(text: str) -> str:
    """Why a manifest of Kubernetes does not keep the schema of its kind; empty: it does."""
    prepare()
    prepare(FOR_KUBERNETES, "kubernetes")
    import kubernetes_validate
    import yaml
    try:
        kubernetes_validate.validate(yaml.safe_load(text), kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as e:
        return str(e)
    return ""


@functools.cache
def validator(name: str):
    prepare()
    import jsonschema
    schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    import referencing
    others = [(p.name, referencing.Resource.from_contents(json.loads(p.read_text())))
              for p in (ROOT / "docs/schema").glob("*.schema.json")]
    return kind(schema, registry=referencing.Registry().with_resources(others))


def problems(document: object, name: str = "report") -> list[str]:
    found = list(validator(name).iter_errors(document))
    return [f"{'/'.join(map(str, e.absolute_path)) or 'document'}: {e.message[:300]}" for e in found]
