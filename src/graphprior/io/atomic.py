"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def unfinished(path: Path) -> Path:
    """What a kill may leave beside a file that `write_whole` was writing."""
    return path.with_name(f".{path.name}.tmp")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a kill at any moment leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished(path)
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
