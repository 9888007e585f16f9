"""A Debian 12 of its own in a folder, as debootstrap makes it, in which commands run; used by the checks of a release.

The commands see no file of this machine but what is bound or copied. They share its network and the caller's JOBS,
PIP_* and proxy variables. Mounts are in a namespace of each command, so they end with it.
"""
import os
import pathlib
import shlex
import shutil
import subprocess

USER = 1000
COMPILERS = ("g++", "gcc", "cc", "cmake", "git")
PASSED_ON = ("JOBS", "PIP_", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES = "/etc/certificates_of_the_caller.crt"
# As a container runtime mounts them: /proc, /sys, the harmless devices, names of hosts.
MOUNTS = """
set -e
mount -t proc proc "$1/proc"
mount --bind /sys "$1/sys"
mount -o remount,bind,ro "$1/sys"
mount -t tmpfs -o mode=755 tmpfs "$1/dev"
for device in null zero full random urandom tty; do
  touch "$1/dev/$device"
  mount --bind "/dev/$device" "$1/dev/$device"
done
mkdir "$1/dev/shm" "$1/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
ln -s /proc/self/fd "$1/dev/fd"
"""


class Chroot:
    def __init__(self, folder: pathlib.Path, base: pathlib.Path):
        """`base` is made where it is missing, and `folder` is a copy of it."""
        if os.geteuid() != 0:
            raise SystemExit("a chroot needs root")
        if not (base / "etc/debian_version").exists():
            subprocess.run(["debootstrap", "--variant=minbase", "bookworm", base], check=True,
                           stdout=subprocess.DEVNULL)
        self.folder = folder
        self.bound: list[tuple[pathlib.Path, str, bool]] = []
        subprocess.run(["cp", "-a", "--reflink=auto", f"{base}/.", folder], check=True)
        # As Debian's images of containers have it: services are not started, dpkg does not wait for the disk.
        (folder / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        (folder / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (folder / "usr/sbin/policy-rc.d").chmod(0o755)
        if "PIP_CERT" in os.environ:
            shutil.copy(os.environ["PIP_CERT"], self.path(CERTIFICATES))
        for file in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{file}", folder / "etc" / file)

    def path(self, inside: str | pathlib.Path) -> pathlib.Path:
        return self.folder / str(inside).lstrip("/")

    def bind(self, outside: pathlib.Path, inside: str, writable: bool = False) -> None:
        self.path(inside).mkdir(parents=True, exist_ok=True)
        self.bound.append((outside, inside, writable))

    def command(self, words: list[str], work: str, environment: dict[str, str], user: str) -> list[str]:
        script = MOUNTS
        for outside, inside, writable in self.bound:
            target = shlex.quote(str(self.path(inside)))
            script += f"mount --bind {shlex.quote(str(outside))} {target}\n"
            if not writable:
                script += f"mount -o remount,bind,ro {target}\n"
        passed = {k: v for k, v in os.environ.items() if k.startswith(PASSED_ON)}
        if "PIP_CERT" in passed:
            passed["PIP_CERT"] = CERTIFICATES
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                     "DEBIAN_FRONTEND": "noninteractive", "PKGSYSTEM_ENABLE_FSYNC": "0",
                     "PIP_ROOT_USER_ACTION": "ignore"} | passed | environment
        inner = ["env", "-i", *(f"{k}={v}" for k, v in variables.items()), "/bin/sh", "-c",
                 f"cd {shlex.quote(work)} && exec \"$@\"", "sh", *words]
        script += 'folder=$1; shift\nexec chroot --userspec="$0" "$folder" "$@"\n'
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, user, str(self.folder),
                *inner]

    def run(self, words: list[str], work: str = "/", user: str = "0:0", **environment: str) -> str:
        """What the command prints, which FOLDER.log has while it runs; SystemExit with its end where it fails."""
        log = self.folder.parent / f"{self.folder.name}.log"
        with log.open("w") as file:
            done = subprocess.run(self.command(words, work, environment, user), stdout=file, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL)
        printed = log.read_text(errors="replace")
        if done.returncode != 0:
            raise SystemExit(f"FAIL {shlex.join(words)} in {self.folder} ended with {done.returncode}:\n"
                             f"{printed[-4000:]}")
        return printed

    def require_no_compiler(self) -> None:
        for tool in COMPILERS:
            if self.path(f"usr/bin/{tool}").exists():
                raise SystemExit(f"FAIL {tool} is in {self.folder}")


def try_tool(root: Chroot, tool: list[str], work: str, **how: str) -> None:
    """What everybody does first: `doctor`, and a conversion with `--verify` of the model.pt in `work`."""
    for words, text in ((["--version"], "onnx-export "), (["doctor"], "LibTorch"),
                        (["model.pt", "--input", "x:batch=2x3", "--force", "--verify"], "verified: "),
                        (["inspect", "model.onnx"], "Exp")):
        printed = root.run([*tool, *words], work, **how)
        print(f"$ {tool[0]} {shlex.join(words)}\n{printed}", flush=True)
        if text not in printed:
            raise SystemExit(f"FAIL {shlex.join(words)} does not print '{text}'")
