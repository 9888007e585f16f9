"""A headless Chromium, steered by its debugging protocol."""
import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / ".deps/pages"))
import websocket  # noqa: E402

SECONDS = 60  # for one command; a slow machine runs other tests meanwhile


class Browser:
    """One page at a time. What the page writes to its console, and its exceptions, are in `problems`."""

    def __init__(self) -> None:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if not program:
            raise FileNotFoundError("chromium is not installed (scripts/setup)")
        self.profile = tempfile.TemporaryDirectory(prefix="pages-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-port=0", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-allow-origins=*", "--hide-scrollbars",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number = 0
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.socket = websocket.create_connection(self._address(), timeout=SECONDS)
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _address(self) -> str:
        port = pathlib.Path(self.profile.name, "DevToolsActivePort")
        for _ in range(SECONDS * 10):
            if port.exists() and len(lines := port.read_text().split()) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.1)
        raise TimeoutError("the browser does not start")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def call(self, method: str, **parameters: object) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            self._note(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _note(self, event: dict) -> None:
        method, p = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = p["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning"):
            self.problems.append(str(p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.problems.append(p["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def open(self, page: pathlib.Path, dark: bool = False) -> float:
        """Opens a file; returns the milliseconds until its scripts have run and it was drawn."""
        self.problems.clear()
        self.requests.clear()
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=page.resolve().as_uri())
        wanted = json.dumps(page.resolve().as_uri())
        while not self.run(f"location.href === {wanted} && document.readyState === 'complete'"):
            time.sleep(0.02)
        return self.run("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now() - "
                        "performance.getEntriesByType('navigation')[0].responseEnd))))")

    def run(self, script: str) -> object:
        """The value of an expression, or of the promise that it is."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", script))
        return result["result"].get("value")

    def axe(self) -> list[str]:
        """What axe-core finds wrong with the page."""
        source = next((ROOT / ".deps/pages").glob("axe_playwright_python/axe.min.js")).read_text()
        self.run(source + "; true")
        found = self.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map("
                         "v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))")
        return list(found)

    def picture(self, file: pathlib.Path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(data))
