"""The HTML pages of --report in headless Chromium, as people and screen readers find them.

    run.py --build build/release [--pictures DIR]

Console errors, requests, what axe-core finds in both color schemes, search, folding, sorting and
filtering, hostile names, and 10,000 nodes. The last line is `N passed, N failed`.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
from torch import nn

from browser import Browser

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"><!--"
# Bounds on a machine that runs other tests meanwhile; measured alone: 150, 10 and 60 ms.
OPEN_MS, SEARCH_MS, UNFOLD_MS = 3000, 300, 1000


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3)
        self.layers = nn.Sequential(*[Block(16) for _ in range(8)])
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


class Detector(nn.Module):
    """Boxes above a score, the best first: branches, a loop, a length that depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Residual()
        self.boxes = nn.Linear(10, 40)

    def forward(self, x, most: int):
        boxes = self.boxes(self.backbone(x)).reshape(-1, 4)
        scores = torch.sigmoid(boxes.sum(1))
        order = torch.argsort(scores, descending=True)
        if bool(scores.max() > 0.9):
            boxes = boxes * 0.5
        total = torch.zeros(4)
        for i in range(most):
            total = total + boxes[order[i]]
        return boxes[scores > 0.2], total


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.lstm = nn.LSTM(8, 16, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(32, 5)

    def forward(self, ids):
        return self.tags(self.lstm(self.words(ids))[0])


class Long(nn.Module):
    def forward(self, x):
        for i in range(5000):
            x = torch.sin(x) + 0.5
        return x


class Unsupported(nn.Module):
    def forward(self, x):
        return torch.linalg.eig(x)[0].real


class Checks:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def that(self, what: str, ok: object, detail: object = "") -> None:
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {what}: {detail}", flush=True)


def click(text: str) -> str:
    return f"[...document.querySelectorAll('button')].find(b => b.textContent === {json.dumps(text)}).click()"


def search(field: str, text: str) -> str:
    return (f"(() => {{ const f = document.getElementById({json.dumps(field)}), start = performance.now(); "
            f"f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); "
            f"document.body.offsetHeight; return performance.now() - start; }})()")


def look(browser: Browser, page: pathlib.Path, name: str, checks: Checks, pictures: pathlib.Path | None) -> None:
    """What holds of every page."""
    for dark in (True, False):
        browser.open(page, dark)
        scheme = "dark" if dark else "light"
        found = browser.axe()
        checks.that(f"{name} in {scheme}: axe-core", not found, found)
        checks.that(f"{name} in {scheme}: console", not browser.problems, browser.problems)
        others = [u for u in browser.requests if not u.startswith(("file:", "data:"))]
        checks.that(f"{name} in {scheme}: nothing is fetched", not others, others)
        if pictures:
            browser.picture(pictures / f"{name}-{scheme}.png")


def look_at_model(browser: Browser, page: pathlib.Path, name: str, word: str, checks: Checks,
                  pictures: pathlib.Path | None) -> None:
    look(browser, page, name, checks, pictures)
    status = "[...document.querySelectorAll('[role=status]')].map(s => s.textContent).find(t => t.includes('of'))"
    browser.run(click("Fold all"))
    folded = browser.run(status)
    browser.run(click("Unfold all"))
    unfolded = browser.run(status)
    checks.that(f"{name}: unfolding shows more boxes", int(folded.split()[0]) <= int(unfolded.split()[0]) and
                folded.split()[3:] == unfolded.split()[3:], f"{folded}, then {unfolded}")
    browser.run(search("node-search", word))
    hits = browser.run("document.querySelectorAll('.results button').length")
    checks.that(f"{name}: search finds {word}", hits > 0)
    browser.run("document.querySelector('.results button').click()")
    details = browser.run("document.querySelector('.side').textContent")
    checks.that(f"{name}: the node's source is beside it", word in details and ".py:" in details, details)
    drawn = browser.run("(() => { const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0,"
                        " c.width, c.height).data; return d.some(v => v !== 0); })()")
    checks.that(f"{name}: the graph is drawn", drawn)
    if pictures:
        browser.run("document.querySelector('.split').scrollIntoView({block: 'center'})")
        browser.picture(pictures / f"{name}-graph.png")


def look_at_batch(browser: Browser, page: pathlib.Path, models: int, checks: Checks,
                  pictures: pathlib.Path | None) -> None:
    look(browser, page, "batch", checks, pictures)
    text = browser.run("document.body.innerText")
    checks.that("batch: the number of models", f"Batch of {models} models" in text, text[:200])
    checks.that("batch: what unblocks models", "would convert" in text and "aten::linalg_eig" in text, text[:2000])
    rows = "[...document.querySelectorAll('#models ~ .scroll tbody tr')]"
    browser.run("[...document.querySelectorAll('th button')].find(b => b.textContent === 'Nodes').click()")
    numbers = browser.run(f"{rows}.map(r => Number(r.children[4].textContent))")
    checks.that("batch: sorting by nodes", numbers == sorted(numbers, reverse=True) and numbers[0] > 1, numbers[:5])
    browser.run("(() => { const s = document.getElementById('model-status'); s.value = 'failed'; "
                "s.dispatchEvent(new Event('change')); })()")
    states = browser.run(f"{rows}.map(r => r.children[1].textContent)")
    checks.that("batch: the filter by status", states and set(states) == {"failed"}, states[:5])
    browser.run("(() => { const s = document.getElementById('model-status'); s.value = ''; "
                "s.dispatchEvent(new Event('change')); })()")
    browser.run(search("model-search", "tagger"))
    links = browser.run(f"{rows}.map(r => r.querySelector('a') && r.querySelector('a').href)")
    checks.that("batch: each model links to its page", links and all(links), links[:3])
    browser.open(pathlib.Path(browser.run(f"decodeURIComponent(new URL({json.dumps(links[0])}).pathname)")))
    checks.that("batch: the page behind a link", "tagger" in browser.run("document.querySelector('h1').textContent"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--models", type=int, default=200)
    options = parser.parse_args()
    tool = options.build.resolve() / "onnx-export"
    checks = Checks()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        here = pathlib.Path(folder)

        def convert(model: str, page: str, *more: str, code: int = 0) -> pathlib.Path:
            done = subprocess.run([tool, model, "--report", page, "--force", "--quiet", *more], cwd=here,
                                  capture_output=True, text=True)
            checks.that(f"{model} ends with {code}", done.returncode == code, (done.returncode, done.stderr[-500:]))
            return here / page

        torch.jit.script(Residual().eval()).save(here / "residual.pt")
        torch.jit.script(Detector().eval()).save(here / "detector.pt")
        torch.jit.script(Tagger().eval()).save(here / "tagger.pt")
        torch.jit.script(Unsupported()).save(here / "unsupported.pt")
        torch.jit.trace(Long(), torch.ones(2)).save(here / "long.pt")
        (here / "text.pt").write_text("no model\n")
        hostile = here / (HOSTILE.replace("/", "_") + ".pt")
        shutil.copy(here / "tagger.pt", hostile)

        page = convert("residual.pt", "residual.html", "--input", "n=1x3x16x16", "--verify")
        look_at_model(browser, page, "residual", "Conv", checks, options.pictures)
        page = convert("detector.pt", "detector.html", "--input", "1x3x16x16", "--input", "most=3", "--verify",
                       "--state=discard")
        look_at_model(browser, page, "detector", "If", checks, options.pictures)
        page = convert("tagger.pt", "tagger.html", "--input", "n=2xlength=7@i64=randint(0,50)", "--verify")
        look_at_model(browser, page, "tagger", "LSTM", checks, options.pictures)
        page = convert("unsupported.pt", "unsupported.html", "--input", "3x3", code=5)
        look(browser, page, "unsupported", checks, options.pictures)
        checks.that("unsupported: the operator is named", "aten::linalg_eig" in
                    browser.run("document.body.innerText"))

        page = convert(hostile.name, "hostile.html", "--input", "2x7@i64=randint(0,50)", "--input-names", HOSTILE)
        look(browser, page, "hostile", checks, None)
        checks.that("hostile: names stay text", browser.run("document.title") != "taken" and
                    HOSTILE in browser.run("document.body.innerText") and
                    not browser.run("document.querySelector('img')"))

        page = convert("long.pt", "long.html", "--input", "2")
        opened = browser.open(page)
        found = browser.run(search("node-search", "Sin_4"))
        unfolded = browser.run(f"(() => {{ const start = performance.now(); {click('Unfold all')}; "
                               "return performance.now() - start; })()")
        nodes = browser.run("document.body.innerText.match(/boxes of (\\d+) nodes/)[1]")
        print(f"{nodes} nodes: open {opened:.0f} ms, search {found:.0f} ms, unfold {unfolded:.0f} ms")
        checks.that("10,000 nodes", int(nodes) >= 10000, nodes)
        checks.that("10,000 nodes open", opened < OPEN_MS, opened)
        checks.that("10,000 nodes are searched", found < SEARCH_MS, found)
        checks.that("10,000 nodes unfold", unfolded < UNFOLD_MS, unfolded)

        zoo = here / "zoo"
        zoo.mkdir()
        kinds = ["residual", "tagger", "unsupported", "text"]
        lines = []
        for i in range(options.models):
            kind = kinds[i // 10 % len(kinds)] if i % 10 == 0 else "tagger" if i % 2 else "residual"
            shutil.copy(here / f"{kind}.pt", zoo / f"{kind}_{i}.pt")
            inputs = {"residual": ["1x3x16x16"], "tagger": ["2x7@i64=randint(0,50)"], "unsupported": ["3x3"]}
            lines.append(json.dumps({"model": f"zoo/{kind}_{i}.pt", "inputs": inputs.get(kind, [])}))
        (here / "zoo.jsonl").write_text("\n".join(lines) + "\n")
        done = subprocess.run([tool, "batch", "--manifest", "zoo.jsonl", "-o", "out", "--report", "batch.html",
                               "--report", "batch.jsonl", "--pages", "pages", "--jobs", "2", "--quiet"],
                              cwd=here, capture_output=True, text=True)
        checks.that("batch ends with 12", done.returncode == 12, (done.returncode, done.stderr[-500:]))
        look_at_batch(browser, here / "batch.html", options.models, checks, options.pictures)
        done = subprocess.run([tool, "batch", "--manifest", "zoo.jsonl", "-o", "out", "--report", "again.html",
                               "--baseline", "batch.jsonl", "--resume", "--quiet"], cwd=here, capture_output=True, text=True)
        browser.open(here / "again.html")
        checks.that("batch: nothing is worse than the baseline", done.returncode == 0 and
                    "Nothing got worse" in browser.run("document.body.innerText"), done.stderr[-300:])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
