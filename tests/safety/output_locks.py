"""Two conversions into one output, live and stale locks."""
import fcntl
import os
import shutil
import subprocess
import time

import commit_models

PAIR = ["--external-data=always", "--external-data-threshold", "1"]
PAIRS = 20


def at_once(tests, number: int) -> None:
    """Both over an old pair, or both into an empty folder, where the later one finds the output taken."""
    place = tests.place()
    shutil.rmtree(place.out, ignore_errors=True)
    place.out.mkdir()
    force = number % 2 == 0
    if force:
        tests.start("A", place, PAIR, False, shim=False).communicate()
    children = {m: tests.start(m, place, PAIR, force, shim=False) for m in "BC"}
    texts = {m: c.communicate(timeout=120)[0] for m, c in children.items()}
    codes = {m: c.returncode for m, c in children.items()}
    who, problems = commit_models.whose(place.out, tests.models)
    problems += commit_models.leftovers(place.out)
    done = [m for m, code in codes.items() if code == 0]
    refused = "OE0711" if force else "OE07"  # it waited too long; or: the other one's output exists
    for m, code in codes.items():
        if code and (code != 7 or refused not in texts[m]):
            problems.append(f"{m} ended with {code}: {texts[m].strip()[-200:]}")
    if who not in done:
        problems.append(f"{done} ended with 0, and the model is {who}")
    if not force and len(done) != 1:
        problems.append(f"{done} ended with 0, without --force")
    tests.figures["at once"] += 1
    tests.check(problems, f"two conversions at once, {number}")


def private_folder(out, pid: int):
    """As a run of this tool makes it; gives the owner's file, unlocked."""
    folder = out / ".onnx-export-aaaaaaaa"
    folder.mkdir(parents=True)
    owner = open(folder / ".onnx-export-owner", "w+b")
    owner.write(f"pid {pid}\0target m.onnx\0".encode())
    owner.flush()
    (folder / "m.onnx").write_text("half a model")
    return owner


def held(tests) -> None:
    """A process that lives holds the lock."""
    place = tests.place()
    shutil.rmtree(place.out, ignore_errors=True)
    with private_folder(place.out, os.getpid()) as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        start = time.monotonic()
        child = tests.start("B", place, [], False, shim=False)
        text = child.communicate(timeout=60)[0]
        took = time.monotonic() - start
    problems = []
    if child.returncode != 7 or f"process {os.getpid()} " not in text or "OE0711" not in text:
        problems.append(f"ended with {child.returncode}: {text.strip()}")
    if not 9.5 < took < 20:
        problems.append(f"ended after {took:.1f} s")
    if sorted(p.name for p in place.out.iterdir()) != [".onnx-export-aaaaaaaa"]:
        problems.append("the folder changed")
    tests.check(problems, "a lock that a process holds")


def released(tests) -> None:
    """The lock is free, or becomes free while a run waits."""
    place = tests.place()
    for wait in (0, 1.5):
        shutil.rmtree(place.out, ignore_errors=True)
        owner = private_folder(place.out, 1)
        fcntl.flock(owner, fcntl.LOCK_EX if wait else fcntl.LOCK_UN)
        child = tests.start("B", place, [], False, shim=False)
        time.sleep(wait)
        running = child.poll() is None
        owner.close()
        text = child.communicate(timeout=60)[0]
        who, problems = commit_models.whose(place.out, tests.models)
        problems += commit_models.leftovers(place.out)
        if child.returncode or who != "B" or (wait and not running):
            problems.append(f"ended with {child.returncode}: {text.strip()}")
        tests.check(problems, f"a lock that is free after {wait} s")


def signal_while_waiting(tests) -> None:
    place = tests.place()
    shutil.rmtree(place.out, ignore_errors=True)
    with private_folder(place.out, os.getpid()) as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        child = tests.start("B", place, [], False, shim=False)
        time.sleep(1)
        child.terminate()
        start = time.monotonic()
        child.communicate(timeout=60)
        took = time.monotonic() - start
    problems = [] if child.returncode == -15 and took < 2 else [f"ended with {child.returncode} after {took:.1f} s"]
    tests.check(problems, "a signal while a run waits for a lock")


def file_size_limit(tests) -> None:
    """SIGXFSZ ends nothing."""
    place = tests.place()
    shutil.rmtree(place.out, ignore_errors=True)
    place.out.mkdir()
    command = tests.command("B", place, PAIR, False)
    child = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", *command], capture_output=True, text=True,
                           cwd=place.path)
    problems = []
    if child.returncode != 7 or "File too large" not in child.stderr:
        problems.append(f"ended with {child.returncode}: {child.stderr.strip()}")
    if list(place.out.iterdir()):
        problems.append(f"left {[p.name for p in place.out.iterdir()]}")
    tests.check(problems, "ulimit -f")


def run(tests) -> None:
    for number in range(PAIRS):
        at_once(tests, number)
    held(tests)
    released(tests)
    signal_while_waiting(tests)
    file_size_limit(tests)
