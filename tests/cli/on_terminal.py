"""Runs a command with a terminal as standard error, and prints what it wrote there, each erased line on its own.

    on_terminal.py COMMAND...
"""
import os
import pty
import subprocess
import sys

main, terminal = pty.openpty()
run = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
os.close(terminal)
text = b""
while True:
    try:
        chunk = os.read(main, 4096)
    except OSError:  # the terminal is closed
        break
    if not chunk:
        break
    text += chunk
code = run.wait()
print(text.decode().replace("\r\x1b[K", "<erased>\n").replace("\r\n", "\n"), end="")
sys.exit(code)
