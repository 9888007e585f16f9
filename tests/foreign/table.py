"""docs/foreign.md: what came of every family and subject of a run."""
import collections

RESULTS = ["passed", "refused", "wrong", "crash", "broken", "excluded"]
FAMILIES = {
    "modules": "PyTorch's module database (`torch.testing`): every `nn.Module` with every sample of its authors",
    "vision": "torchvision: models from their constructors",
    "timm_models": "timm: image models",
    "transformer_models": "transformers: small configurations",
    "shipped": "TorchScript files that packages ship",
}
HEAD = """# Models that others wrote

Written by `tests/foreign/run.py --write-table [--full]`. Each case is a module or a model, unchanged, traced or scripted,
converted with `--dynamic-axes` (or with the example's sizes where that is refused), and ONNX Runtime's results compared
with what `torch.jit.load(file)(*inputs)` gives in Python: at the example, at other values and at other sizes. Excluded
is what torch.jit refuses to trace, script or run, and what computes something random.

"""


def text(results: list[dict], run: str, versions: list[str]) -> str:
    lines = [HEAD, f"From {run}: {len(results)} cases. Versions: " + ", ".join(versions) + ".\n\n", _row("family", "cases", *RESULTS[:4], "excluded", "at other sizes"),
             _row("---", *["---:"] * 7)]
    families = [f for f in FAMILIES if any(r["family"] == f for r in results)]
    for family in families:
        own = [r for r in results if r["family"] == family]
        lines.append(_row(family, *_counts(own), sum(r["sizes"] > 0 for r in own)))
    lines += ["\n## Why cases are refused or excluded\n\n", _row("cases", "why"), _row("---:", "---")]
    reasons = collections.Counter((r["result"], r["reason"]) for r in results if r["result"] in ("refused", "excluded"))
    lines += [_row(n, f"{result}: {_code(reason)}") for (result, reason), n in
              sorted(reasons.items(), key=lambda i: (i[0][0] != "refused", -i[1], i[0]))]
    for family in families:
        lines += [f"\n## {FAMILIES[family]}\n\n", _row("", "cases", *RESULTS[:4], "excluded", "refused for"),
                  _row("---", *["---:"] * 6, "---")]
        subjects = collections.defaultdict(list)
        for r in results:
            if r["family"] == family:
                subjects[r["subject"]].append(r)
        for subject, own in sorted(subjects.items()):
            why = collections.Counter(r["reason"] for r in own if r["result"] == "refused")
            lines.append(_row(subject, *_counts(own), "; ".join(_code(w) for w, _ in why.most_common(3))))
    return "".join(lines)


def _counts(results: list[dict]) -> list[int]:
    count = collections.Counter(r["result"] for r in results)
    return [len(results)] + [count[k] for k in RESULTS[:4]] + [count["excluded"]]


def _code(reason: str) -> str:
    return reason.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")


def _row(*cells) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |\n"
