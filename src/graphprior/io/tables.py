"""Tables of users: CSV, TSV, gzipped text, Parquet, Excel and NPZ, all read into the same shape.

A table is its header, a list of words, and its cells. Text may part its cells by
comma, semicolon or tab; which one is guessed from the first lines, and a file
that reads both ways is refused. After semicolons a comma may be the decimal sign.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from graphprior.errors import GraphPriorError
from graphprior.io.safe import (
    MOST_CELLS,
    check_zip,
    existing_file,
    guarded,
    gunzip,
    read_arrays,
    refuse_entities,
)

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx", ".npz")  # of a cohort
Header = list[str]
Cells = pd.DataFrame
EXTRA = {"pyarrow": "Parquet", "openpyxl": "Excel"}


def suffix_of(path: Path) -> str:
    """The ending that tells a table's format: .csv, .csv.gz, .parquet, ..."""
    name = path.name.lower()
    suffix = Path(name).suffix
    return Path(name.removesuffix(suffix)).suffix + suffix if suffix == ".gz" else suffix


def stem_of(path: Path) -> str:
    """A table's name without its ending."""
    return path.name[: len(path.name) - len(suffix_of(path))]


def read_table(
    path: str | Path, sheet: str | None = None, text: bool = False
) -> tuple[Header, Cells]:
    """Header and cells of a table in any format; cells as words with ``text``, else as they are.

    ``sheet`` names one of an Excel file, whose first is taken otherwise.
    """
    path = existing_file(path)
    suffix = suffix_of(path)
    if suffix not in (*TEXT, *READERS):
        raise GraphPriorError(
            f"{path}: a table ends in {', '.join((*TEXT[:3], *READERS))}, or {TEXT[3]}; "
            f"not in {suffix or 'nothing'}"
        )
    if sheet is not None and suffix != ".xlsx":
        raise GraphPriorError(f"{path} has no sheets: sheet= is for .xlsx")
    with guarded(path, "a table"):
        if suffix in TEXT:
            return _read_text(path, suffix, text)
        header, cells = READERS[suffix](path, sheet)
    return header, cells.map(_word) if text else cells


def _word(cell: Any) -> str:
    """A cell of a typed table as text has it: whole numbers without a point, nothing as ''."""
    if cell is None or (isinstance(cell, float) and cell != cell) or cell is pd.NA:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _read_text(path: Path, suffix: str, text: bool) -> tuple[Header, Cells]:
    content = gunzip(path) if suffix.endswith(".gz") else path.read_bytes()
    # Lines left empty at the top would make the header a row of data.
    try:
        words = content.decode("utf-8-sig").lstrip("\r\n")
    except UnicodeDecodeError:
        raise GraphPriorError(
            f"{path} is not text in UTF-8: save it as such (in Excel: CSV UTF-8)"
        ) from None
    separator = "\t" if suffix.startswith(".tsv") else guess_separator(words, path)
    options: dict[str, Any] = {"sep": separator, "header": None}
    as_words = {**options, "dtype": str, "keep_default_na": False}
    if text:
        table = pd.read_csv(StringIO(words), **as_words)
        return [str(c).strip() for c in table.iloc[0]], table.iloc[1:].fillna("")
    header = pd.read_csv(StringIO(words), nrows=1, **as_words)
    names = [str(c).strip() for c in header.iloc[0]]
    decimal = "," if separator == ";" and _has_decimal_commas(words) else "."
    try:
        cells = pd.read_csv(StringIO(words), skiprows=1, decimal=decimal, **options)
    except pd.errors.EmptyDataError:
        cells = pd.DataFrame(columns=range(len(names)))
    return names, cells


def guess_separator(words: str, path: str | Path) -> str:
    """Comma, semicolon or tab: the one that parts header and first row into as many cells."""
    lines = [line for line in words.splitlines()[:50] if line.strip()][:2]
    counts = {s: [len(_parts(line, s)) for line in lines] for s in (",", ";", "\t")}
    parting = [s for s, c in counts.items() if c and c[0] > 1]
    if len(parting) < 2:
        return parting[0] if parting else ","
    even = [s for s in parting if len(set(counts[s])) == 1]
    if len(even) == 1:
        return even[0]
    raise GraphPriorError(
        f"{path}: its first lines can be parted by {' and by '.join(map(repr, even or parting))}; "
        "put names that hold such a character in quotes, or save it as .tsv"
    )


def _parts(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _has_decimal_commas(words: str) -> bool:
    """Whether cells such as 1,5 are there and none such as 1.5; a date 24.12.2020 is neither."""
    body = words.split("\n", 1)[-1]
    return bool(_cells_with(",", body)) and not _cells_with(".", body)


def _cells_with(sign: str, body: str) -> re.Match[str] | None:
    number = rf"[-+]?\d*{re.escape(sign)}\d+(?:[eE][-+]?\d+)?"
    # No \s: it runs over empty lines, from each of them to the last.
    return re.search(rf'(?:^|[;"])[ \t]*{number}[ \t]*(?:$|[;"\r])', body, re.MULTILINE)


def _need(library: str) -> None:
    if find_spec(library) is None:
        raise GraphPriorError(
            f"{EXTRA[library]} files need {library}: pip install 'graphprior[files]'"
        )


def _refuse_too_many(rows: int, columns: int) -> None:
    if rows * max(columns, 1) > MOST_CELLS or columns > MOST_CELLS // 100:
        raise ValueError(f"it declares {rows} rows of {columns}: at most {MOST_CELLS} cells")


def _read_parquet(path: Path, _: str | None) -> tuple[Header, Cells]:
    """Row labels that pandas keeps beside the data are no column."""
    _need("pyarrow")
    import pyarrow.parquet as pq

    # Read whole: a mapped file that is cut while it is read ends the process.
    with pq.ParquetFile(BytesIO(path.read_bytes())) as file:
        _refuse_too_many(file.metadata.num_rows, file.metadata.num_columns)
        columns = [c for c in file.schema_arrow.names if not re.match(r"__index_level_\d+__$", c)]
        table = file.read(columns=columns, use_threads=False)
        table.validate(full=True)
    cells: pd.DataFrame = table.to_pandas(ignore_metadata=True, use_threads=False)
    header = [str(c) for c in cells.columns]
    return header, _numbered(cells)


def _read_npz(path: Path, _: str | None) -> tuple[Header, Cells]:
    """Array ``X`` or ``observations``, and ``names`` if there are some."""
    arrays = read_arrays(path, "a table")
    X = arrays.get("X", arrays.get("observations"))
    if X is None or X.ndim != 2 or X.dtype.kind not in "fiub":
        said = {name: f"{array.dtype} {array.shape}" for name, array in arrays.items()}
        raise ValueError(f"it holds {said}: expected numbers X or observations, (k, n)")
    names = arrays.get("names")
    if names is None:
        return [f"x{i}" for i in range(X.shape[1])], pd.DataFrame(X)
    if names.shape != X.shape[1:] or names.dtype.kind != "U":
        raise ValueError(f"names are {names.dtype} {names.shape}: expected {X.shape[1]} words")
    return [str(name) for name in names], pd.DataFrame(X)


def _read_excel(path: Path, sheet: str | None) -> tuple[Header, Cells]:
    _need("openpyxl")
    from openpyxl import load_workbook

    check_zip(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if not member.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".bin")):
                refuse_entities(archive.read(member), path)
    book = load_workbook(path, read_only=True, data_only=True)
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise GraphPriorError(f"{path} has no sheet {sheet!r}: it has {book.sheetnames}")
        page = book[book.sheetnames[0] if sheet is None else sheet]
        page.reset_dimensions()  # what the file says of them may be wrong
        rows = _filled_rows(page.iter_rows(values_only=True))
    finally:
        book.close()
    if not rows:
        raise ValueError("no cell is filled")
    width = max(map(len, rows))
    rows = [row + (None,) * (width - len(row)) for row in rows]
    header = [_word(cell).strip() for cell in rows[0]]
    return header, pd.DataFrame(rows[1:], columns=range(width)).infer_objects()


def _filled_rows(rows: Any) -> list[tuple[Any, ...]]:
    """Rows to the last one with a filled cell, each cut after its last one."""
    filled: list[tuple[Any, ...]] = []
    cells = 0
    for number, row in enumerate(rows):
        cells += len(row) + 1
        _refuse_too_many(cells, 1)
        if number >= 2**20:
            raise ValueError("more rows than a sheet can have")
        last = max((c for c, cell in enumerate(row) if cell is not None), default=-1)
        filled.append(tuple(row[: last + 1]))
    while filled and not filled[-1]:
        filled.pop()
    return filled


def _numbered(cells: Cells) -> Cells:
    cells.columns = pd.RangeIndex(cells.shape[1])
    return cells


READERS: dict[str, Callable[[Path, str | None], tuple[Header, Cells]]] = {
    ".parquet": _read_parquet,
    ".xlsx": _read_excel,
    ".npz": _read_npz,
}
