"""Run the commands of docs/tutorials/transcript.md again and write down what they print.

    python scripts/transcript.py

In a fresh clone of what is committed here, which takes some minutes. The words around the commands
stay: read them again afterwards.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorials" / "transcript.md"
BLOCK = re.compile(r"```text\n\$ (.*?)\n.*?```", re.DOTALL)
CLONE = "git clone -q <this repository> graphprior"


def run(command: str, folder: Path) -> str:
    """A block: the command, what it printed, and the seconds it took."""
    shown, start = command, time.perf_counter()
    if command == CLONE:
        command, where = f"git clone -q {ROOT} graphprior", folder
    else:
        where = folder / "graphprior"
    done = subprocess.run(
        command, cwd=where, shell=True, check=True, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if not line.startswith("WARNING: ")]
    seconds = f"[{time.perf_counter() - start:.0f} s]"
    return "\n".join(["```text", f"$ {shown}", *lines, seconds, "```"])


def main() -> None:
    """All blocks, in their order."""
    with TemporaryDirectory() as folder:
        text = BLOCK.sub(lambda m: run(m[1], Path(folder)), PAGE.read_text("utf-8"))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
