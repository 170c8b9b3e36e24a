"""Files of strangers, opened with care: nothing unpickled, nothing that grows without bound.

A small file may ask for endless memory: a zip of zeros, an array whose header
declares more entries than the file holds, XML entities that name each other.
Each is refused before it is unfolded. Parsers of other libraries raise
anything on a damaged file; here that becomes one `GraphPriorError`.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import psutil

from graphprior.errors import GraphPriorError

MOST_BYTES = 2**30  # what a .gz file, which does not tell its size, may unfold to
MOST_CELLS = 10**8  # of a table whose rows are counted in a header


@contextmanager
def guarded(path: str | Path, what: str, advice: str = "") -> Iterator[None]:
    """Whatever a parser raises becomes an error that names the file and what it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a parser mutters of a file tells a user nothing
            yield
    except GraphPriorError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:300] or type(error).__name__
        raise GraphPriorError(f"{path} is not {what} ({words}){advice}") from None


def existing_file(path: str | Path) -> Path:
    """The path of a file that is there."""
    path = Path(path)
    if not path.is_file():
        raise GraphPriorError(f"{path}: no such file")
    return path


def read_json(path: Path, what: str = "JSON") -> Any:
    """The content of a JSON file."""
    with guarded(path, what):
        return json.loads(path.read_text(encoding="utf-8"))


def gunzip(path: Path) -> bytes:
    """The content of a .gz file, up to a bound."""
    with guarded(path, "a whole .gz file"), gzip.open(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise GraphPriorError(
            f"{path} unfolds to more than {MOST_BYTES:,} bytes: unpack it and give the plain file"
        )
    return content


def check_zip(path: Path) -> None:
    """Refuse a zip whose members unfold to more than memory holds; none gives more than it says."""
    with zipfile.ZipFile(path) as archive:
        unfolded = sum(member.file_size for member in archive.infolist())
    free = psutil.virtual_memory().available
    if unfolded > free // 2:
        raise GraphPriorError(
            f"{path} unfolds to {unfolded / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: "
            "give a smaller file"
        )


def read_arrays(path: Path, what: str) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an .npz file by name."""
    with guarded(path, what):
        check_zip(path)
        with zipfile.ZipFile(path) as archive:
            return {
                member.filename.removesuffix(".npy"): _read_array(archive, member)
                for member in archive.infolist()
            }


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; its header is held to the bytes that follow before any memory is taken."""
    with archive.open(member) as file:
        shape, dtype = _header(file)
        declared, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds objects, which are never unpickled")
    if declared != there or min(shape, default=0) < 0 or len(shape) > 8:
        raise ValueError(f"{member.filename} declares {declared} bytes and has {there}")
    with archive.open(member) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        file.read()  # to the end, where the checksum is compared
    return array


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"an array of format {version}")
    return shape, dtype


def read_graphml(path: Path) -> Any:
    """The networkx graph of a GraphML file."""
    with guarded(path, "GraphML"):
        content = path.read_bytes()
        refuse_entities(content, path)
        return nx.read_graphml(BytesIO(content))


def refuse_entities(content: bytes, path: str | Path) -> None:
    """XML may define entities by other entities, a page of which fills any memory."""
    # UTF-16 and UTF-32 put zero bytes between the letters.
    if re.search(rb"<!(DOCTYPE|ENTITY)", content.replace(b"\0", b""), re.IGNORECASE):
        raise GraphPriorError(
            f"{path} defines XML entities or a document type: remove the <!DOCTYPE ...> part"
        )
