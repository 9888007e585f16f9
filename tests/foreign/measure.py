"""docs/models.md: what came of each model at each opset, with its nodes and the time that it took.

The judge is the tool's own `--verify`, at opset 18 also judge.py.
"""
import collections
import dataclasses
import json
import pathlib
import re
import subprocess

from judge import How, Verdict, Wrong, Reference, compare, problems

LIMIT_S = 900  # flows and videos are verified at several sizes
OPSETS = [11, 16, 18, 21]
SECOND = 18  # judged by judge.py too
FAMILIES = {
    "vision": "torchvision: images, video, flow", "quantized_vision": "torchvision: quantized",
    "detection": "torchvision: detection",
    "timm_models": "timm", "transformer_models": "transformers", "others": "Others",
    "shipped": "TorchScript files that packages ship",
}
HEAD = """# Models

Written by `tests/foreign/run.py --models --full --write-table`: models of other people's packages, unchanged, small, with
random weights, traced, scripted or both, converted at opsets 11, 16, 18 and 21 with every axis dynamic (*fixed* where only the
example's sizes convert, *dynamic from 16* where they are at opset 11) and verified in ONNX Runtime by `--verify`, which compares at other values and sizes; at opset
18 also by `tests/foreign/judge.py`, which loads the file in Python (but for quantized models and for
detectors, which are verified with one seed a size: with random weights, rounding decides between some of the boxes of
every few images). Nodes and seconds (load to write, without
verification, beside others on two cores) are those of opset 18. *Excluded*: torch.jit refuses to trace, script or run it.
*Converted*: written, but not verified fully (exit code 11), of detectors because LibTorch itself keeps other boxes where
its weights and inputs are one unit in the last place off; counted as passed.

"""


def measure(path: pathlib.Path, arguments: tuple, how: How) -> Verdict:
    import torch

    try:
        first = Reference(path, how)(arguments)
        second = Reference(path, how)(arguments, seed=1)
    except Exception as e:
        return Verdict("excluded", "LibTorch does not run the file", str(e)[-300:])
    plain = not any(isinstance(t, torch.Tensor) and (t.is_complex() or t.is_quantized) for t in first)
    same = plain and all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(first, second))
    given = path.with_suffix(".inputs.pt")
    torch.save(arguments, given)
    verdict = Verdict("passed")
    for opset in OPSETS:
        one = _convert(path, given, how, opset, True)
        if one["result"] == "refused":
            fixed = _convert(path, given, how, opset, False)
            if fixed["result"] != "refused":  # dynamic axes were the reason
                one = fixed
        if opset == SECOND and one["result"] == "passed" and same and how.exact:
            try:
                compare(Reference(path, how), path.with_suffix(".onnx"), arguments, verdict, one["dynamic"])
            except Wrong as e:
                one = {**one, "result": "wrong", "reason": "judge.py: wrong", "detail": str(e)}
        verdict.opsets[str(opset)] = one
    verdict.dynamic = all(one["dynamic"] for one in verdict.opsets.values())
    for result in ("crash", "wrong", "refused"):
        worst = [one for one in verdict.opsets.values() if one["result"] == result]
        if worst:
            verdict.result, verdict.reason, verdict.detail = result, worst[-1]["reason"], worst[-1].get("detail", "")
            break
    return verdict


def _convert(path: pathlib.Path, given: pathlib.Path, how: How, opset: int, dynamic: bool) -> dict:
    return {**_converted(path, given, how, opset, dynamic), "dynamic": dynamic}


def _converted(path: pathlib.Path, given: pathlib.Path, how: How, opset: int, dynamic: bool) -> dict:
    words = [how.tool, str(path), "--inputs", str(given), "-o", str(path.with_suffix(".onnx")), "--force", "--json",
             "--threads", "1", "--opset", str(opset), "--verify", *(["--dynamic-axes"] if dynamic else []),
             "--mode", how.mode, *(["--verify-runs", str(how.seeds)] if how.seeds else [])]
    try:
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"result": "crash", "reason": f"no end within {LIMIT_S} s"}
    said = f"exit code {run.returncode}: {' '.join(words)}\n{run.stdout[-2000:]}{run.stderr[-3000:]}"
    try:
        document = json.loads(run.stdout)
    except ValueError:
        return {"result": "crash", "reason": f"exit code {run.returncode} and no report", "detail": said}
    reason = "; ".join(sorted(set(problems(document))))
    if run.returncode in (0, 11):
        seconds = sum(s["seconds"] for s in document["stages"] if s["name"] != "verify")
        return {"result": "passed", "nodes": document["nodes"], "seconds": round(seconds, 2),
                "unverified": run.returncode == 11, "reason": ""}
    if run.returncode == 6:
        return {"result": "wrong", "reason": (document["verification"] or {}).get("text") or reason, "detail": said}
    if run.returncode not in (4, 5) or "this is a bug" in said:
        return {"result": "crash", "reason": f"exit code {run.returncode}: {reason}", "detail": said}
    return {"result": "refused", "reason": reason, "detail": said}


def text(results: list[dict], versions: list[str], every: list[str]) -> str:
    """`every`: the labels of all cases; those without a result are named."""
    results = [r for r in results if r["family"] in FAMILIES]
    lines = [HEAD, "Versions: " + ", ".join(versions) + ".\n\n", _row("family", "models", "passed at all", *OPSETS, "excluded"),
             _row("---", *["---:"] * (3 + len(OPSETS)))]
    for family in [*FAMILIES, "all"]:
        own = [r for r in results if family in (r["family"], "all")]
        tried = [r for r in own if r["result"] != "excluded"]
        if own:
            lines.append(_row(family, len(tried), sum(r["result"] == "passed" for r in tried),
                              *[sum(_at(r, o).get("result") == "passed" for r in tried) for o in OPSETS],
                              len(own) - len(tried)))
    why = collections.Counter(r["reason"] for r in results if r["result"] not in ("passed", "excluded"))
    if why:
        lines += ["\n## Why not\n\n", _row("models", "why"), _row("---:", "---")]
        lines += [_row(n, _code(reason)) for reason, n in why.most_common()]
    left = sorted(set(every) - {r["label"] for r in results})
    if left:
        lines.append("\nNot run for this table, for the time or the memory it takes: " + ", ".join(map(_code, left)) + ".\n")
    for family, title in FAMILIES.items():
        own = [r for r in results if r["family"] == family and r["result"] != "excluded"]
        if not own:
            continue
        lines += [f"\n## {title}\n\n", _row("model", *OPSETS, "axes", "nodes", "seconds"), _row("---", *["---"] * (1 + len(OPSETS)), "---:", "---:")]
        for r in sorted(own, key=lambda r: r["label"]):
            at = _at(r, SECOND)
            lines.append(_row(_code(r["label"].removeprefix(family + " ")), *[_cell(_at(r, o)) for o in OPSETS],
                              _axes(r), at.get("nodes", ""), at.get("seconds", "")))
    return "".join(lines)


def rows_of(text: str, every: list[str]) -> list[dict]:
    """The results that a docs/models.md tells, which has no row for what is excluded."""
    family, results = "", []
    left = re.search(r"^Not run for this table.*?: (.*)\.$", text, re.M)
    unrun = set(_plain(left[1]).split(", ")) if left else set()
    for line in text.splitlines():
        if line.startswith("## "):
            family = next((f for f, title in FAMILIES.items() if title == line[3:]), "")
        cells = [_plain(c.strip()) for c in line.strip("|").split(" | ")]
        if not family or not line.startswith("| ") or cells[0] in ("model", "---"):
            continue
        name, *per_opset, axes, nodes, seconds = cells
        first = OPSETS[0] if axes == "dynamic" else int(axes.split()[-1]) if axes != "fixed" else None
        opsets = {}
        for opset, cell in zip(OPSETS, per_opset):
            passed = cell in ("passed", "converted")
            opsets[str(opset)] = {"result": "passed" if passed else cell if cell in ("wrong", "crash") else "refused",
                                  "reason": "" if passed else cell, "unverified": cell == "converted",
                                  "dynamic": first is not None and opset >= first}
        if nodes:
            opsets[str(SECOND)] |= {"nodes": int(nodes), "seconds": float(seconds)}
        bad = [one for one in opsets.values() if one["result"] != "passed"]
        results.append({"label": f"{family} {name}", "family": family, "result": bad[0]["result"] if bad else "passed",
                        "reason": bad[0]["reason"] if bad else "", "sizes": 0, "opsets": opsets,
                        "dynamic": all(one["dynamic"] for one in opsets.values())})
    for label in sorted(set(every) - unrun - {r["label"] for r in results}):
        results.append({"label": label, "family": label.split(" ")[0], "result": "excluded", "reason": "torch.jit refuses it",
                        "sizes": 0, "opsets": {}, "dynamic": True})
    return results


def _at(r: dict, opset: int) -> dict:
    return r["opsets"].get(str(opset), {})


def _axes(r: dict) -> str:
    dynamic = [opset for opset in OPSETS if _at(r, opset).get("dynamic", r["dynamic"])]
    if len(dynamic) == len(OPSETS):
        return "dynamic"
    return f"dynamic from {dynamic[0]}" if dynamic else "fixed"


def _cell(one: dict) -> str:
    if one.get("result") == "refused":
        return one["reason"].split(" ")[0]
    return "converted" if one.get("unverified") else one.get("result", "")


def _code(reason: str) -> str:
    return reason.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def _plain(cell: str) -> str:
    return cell.replace("\\", "")


def _row(*cells) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |\n"
