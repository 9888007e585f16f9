"""Keeps the option list of docs/cli.md equal to what --help-all prints.

    cli_page.py --tool build/release/onnx-export [--bless]
"""
import argparse
import pathlib
import re
import subprocess

PATH = pathlib.Path(__file__).resolve().parents[2] / "docs/cli.md"
SECTION = re.compile(r"(<!-- help -->\n```\n).*?(```\n<!-- /help -->)", re.S)


def blessed(tool: pathlib.Path) -> str:
    """docs/cli.md with the section between the marks written anew."""
    text = subprocess.run([str(tool), "--help-all"], check=True, capture_output=True, text=True).stdout
    return SECTION.sub(lambda m: m.group(1) + text.strip("\n") + "\n" + m.group(2), PATH.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=pathlib.Path, required=True)
    parser.add_argument("--bless", action="store_true")
    options = parser.parse_args()
    if options.bless:
        PATH.write_text(blessed(options.tool))
    else:
        print(blessed(options.tool), end="")


if __name__ == "__main__":
    main()
