"""Nothing is worse than the baseline; a model that breaks is."""
import json
import pathlib
import subprocess
import xml.dom.minidom


def convert() -> subprocess.CompletedProcess:
    return subprocess.run(["sh", "convert.sh", "models"], capture_output=True, text=True)


done = convert()
assert done.returncode == 0, done.stderr
suite = xml.dom.minidom.parse("reports/models.xml").getElementsByTagName("testsuite")[0]
assert suite.getAttribute("tests") == "2" and suite.getAttribute("failures") == "0"
pathlib.Path("models/second.pt").write_text("no model any more")
done = convert()
assert done.returncode == 12 and "worse: second.onnx: status failed, was ok" in done.stderr, done.stderr
results = json.loads(pathlib.Path("reports/models.sarif").read_text())["runs"][0]["results"]
errors = [r for r in results if r["level"] == "error"]
assert errors[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "models/second.pt", errors
