"""opsets/derivatives.tsv: operators that are differentiated inside a model, and what is known not to be.

    derivative_table.py [--bless]

From the names of the rules (lib/capture/operators/composites) and from tests/sweep/gradients_known.txt. Prints the table;
--bless writes it.
"""
import argparse
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "opsets/derivatives.tsv"
RULES = ROOT / "lib/capture/operators/composites"


def operator(name: str) -> str:
    base, _, overload = name.partition("__")
    return f"aten::{base}.{overload}" if overload else f"aten::{base}"


def functions(pattern: str) -> list[str]:
    texts = [path.read_text() for path in sorted(RULES.glob(pattern))]
    names = re.findall(r"^(?:def (?=\w+\()|(?=\w+ = ))(\w+)", "\n".join(texts), re.M)  # functions and aliases
    return [n for n in names if not n.startswith("_")]


def table() -> str:
    rules: dict[str, list[str]] = {}
    for name in functions("derivatives_*.py"):
        of, _, argument = name.rpartition("__")
        if of:  # else a function for other rules
            rules.setdefault(operator(of), []).append(argument)
    rows = [(op, "rule", ", ".join(arguments)) for op, arguments in rules.items()]
    rows += [(operator(name), "parts", "") for name in functions("of_differentiated*.py")]
    for line in (ROOT / "tests/sweep/gradients_known.txt").read_text().splitlines():
        words, _, reason = line.partition(": ")
        if reason and not line.startswith("#"):
            order, result, name = words.split()
            rows.append((name, f"{order} {result}", reason))
    return "".join("\t".join(row) + "\n" for row in sorted(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bless", action="store_true")
    if parser.parse_args().bless:
        TABLE.write_text(table())
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
