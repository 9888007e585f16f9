"""What came of the sweep: the table of operators, dtypes and opsets, the reasons, and docs/coverage.md."""
import collections

RESULTS = ["passed", "refused", "unrun", "in_float", "wrong", "crash"]
HEAD = """# Operators that PyTorch's test database judges

Written by `scripts/sweep --write-table`. Each sample input of each operator of `op_db` (`torch.testing`) is traced,
converted, run in ONNX Runtime and compared with what the operator itself gives in PyTorch: element type and shape,
integers and bools exactly, floats against a run in float64 (`tests/sweep/judge.h`). *Refused*: the converter says that
it cannot. *Unrun*: ONNX Runtime has no kernel for what was written. *In float*: ONNX Runtime has no kernel for doubles, the converter said that it computes in
float32 (OE5003), and the result is right as far as that goes. *Left out*: samples that cannot judge, with the
reason.

"""


def tsv(results) -> str:
    """A row for each operator, dtype and opset."""
    lines = ["\t".join(["operator", "dtype", "opset", "samples", *RESULTS, "reasons"])]
    for (op, dtype, opset), own in sorted(_by(results, "op", "dtype", "opset").items()):
        lines.append("\t".join([op, dtype, str(opset), str(len(own)), *map(str, _counts(own)), _reasons(own)]))
    return "\n".join(lines) + "\n"


def summary(results, left_out) -> str:
    rows = [line.split("\t") for line in tsv(results).splitlines()]
    lines = ["operator, dtype and opset where not all samples passed:"]
    lines += ["  ".join([f"{r[0]:44}", f"{r[1]:10}", *(f"{cell:>7}" for cell in r[2:10]), r[10]])
              for r in rows if r[3] != r[4]]
    for result in RESULTS[1:]:
        own = [r for r in results if r["result"] == result]
        if own:
            lines += ["", f"{result}: {len(own)}"]
            lines += [f"{n:7} {reason}" for reason, n in collections.Counter(map(_reason, own)).most_common()]
    lines += ["", f"left out: {sum(x['samples'] for x in left_out)}"]
    lines += [f"{n:7} {reason}" for reason, n in _left_out(left_out).most_common()]
    lines += ["", "dtype       opset samples " + " ".join(f"{r:>8}" for r in RESULTS)]
    lines += [f"{dtype:11} {opset:5} {len(own):7} " + " ".join(f"{n:8}" for n in _counts(own))
              for (dtype, opset), own in sorted(_by(results, "dtype", "opset").items())]
    return "\n".join(lines)


def page(results, left_out, options) -> str:
    dtypes = [d for d in options.dtypes.split(",") if any(r["dtype"] == d for r in results)]
    lines = [HEAD, f"Opsets {options.opsets.replace(',', ', ')}; "
             f"{'all' if options.limit <= 0 else f'at most {options.limit}'} samples of an operator and dtype.\n\n",
             _row("dtype", "opset", "samples", *RESULTS), _row("---", *["---:"] * (2 + len(RESULTS)))]
    lines += [_row(dtype, opset, len(own), *_counts(own))
              for (dtype, opset), own in sorted(_by(results, "dtype", "opset").items())]
    lines += ["\n## Why\n\n", _row("results", "", "why"), _row("---:", "---", "---")]
    why = collections.Counter((r["result"], _reason(r)) for r in results if r["result"] != "passed")
    lines += [_row(n, result, _code(reason)) for (result, reason), n in why.most_common()]
    lines += [_row(n, "left out", _code(reason)) for reason, n in _left_out(left_out).most_common()]
    lines += ["\n## Operators\n\nPassed of all results, over the opsets; a single number: all passed.\n\n",
              _row("operator", *dtypes, "why not"), _row("---", *["---:"] * len(dtypes), "---")]
    by_operator = _by(results, "op")
    reasons = collections.defaultdict(collections.Counter)
    for x in left_out:
        reasons[x["op"]]["left out: " + x["reason"]] += x["samples"]
    for op in sorted({k[0] for k in by_operator} | set(reasons)):
        own = by_operator.get((op,), [])
        reasons[op].update(_reason(r) for r in own if r["result"] != "passed")
        cells = [_cell([r for r in own if r["dtype"] == d]) for d in dtypes]
        lines.append(_row(_code(op), *cells, "; ".join(_code(w) for w, _ in reasons[op].most_common(3))))
    return "".join(lines)


def _by(results, *keys):
    groups = collections.defaultdict(list)
    for r in results:
        groups[tuple(r[k] for k in keys)].append(r)
    return groups


def _counts(results) -> list[int]:
    count = collections.Counter(r["result"] for r in results)
    return [count[k] for k in RESULTS]


def _reason(r) -> str:
    return r["reason"] or "no reason given"


def _reasons(results) -> str:
    count = collections.Counter(f"{r['result']}: {_reason(r)}" for r in results if r["result"] != "passed")
    return "; ".join(reason for reason, _ in count.most_common(2))


def _left_out(left_out):
    count = collections.Counter()
    for x in left_out:
        count[x["reason"]] += x["samples"]
    return count


def _cell(own) -> str:
    passed = sum(r["result"] == "passed" for r in own)
    return "" if not own else str(passed) if passed == len(own) else f"{passed}/{len(own)}"


def _code(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*").replace("<", "\\<")


def _row(*cells) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |\n"
