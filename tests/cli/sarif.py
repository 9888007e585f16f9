"""Checks the SARIF document on standard input, by hand: what SARIF 2.1.0 requires, and that a reader can follow it.

Prints a line for each result: rule, level, file:line, module.
"""
import json
import sys
import urllib.parse

d = json.load(sys.stdin)
assert d["version"] == "2.1.0" and d["$schema"].endswith("sarif-2.1.0.json"), d.keys()
[run] = d["runs"]
driver = run["tool"]["driver"]
assert driver["name"] and driver["version"]
ids = [rule["id"] for rule in driver["rules"]]
assert len(set(ids)) == len(ids), ids
for rule in driver["rules"]:
    assert rule["shortDescription"]["text"] and rule["help"]["text"], rule
[invocation] = run["invocations"]
assert isinstance(invocation["executionSuccessful"], bool)
assert invocation["executionSuccessful"] == (invocation["exitCode"] == 0)
for result in run["results"]:
    assert ids[result["ruleIndex"]] == result["ruleId"], result
    assert result["level"] in ("error", "warning", "note") and result["message"]["text"], result
    if not result["locations"]:
        print(result["ruleId"], result["level"])
        continue
    [location] = result["locations"]
    physical = location["physicalLocation"]
    uri = physical["artifactLocation"]["uri"]
    assert urllib.parse.quote(urllib.parse.unquote(uri), safe="-._~/!$&'()*+,;=@") == uri, uri
    region = physical.get("region", {})
    assert region.get("startLine", 1) >= 1 and ("snippet" in region) == ("startLine" in region)
    modules = [m["fullyQualifiedName"] for m in location.get("logicalLocations", [])]
    place = uri.rsplit("/", 1)[-1] + (":line" if region else "")
    print(result["ruleId"], result["level"], place, *modules)
