"""Damaged files for every reader: a valid one of each format, and ways to break it.

Law: a reader gives back a valid value or raises `GraphPriorError`, in time, and leaves
no file behind.
"""

import gzip
import io
import json
import signal
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from graphprior.engines.gibbs import Gibbs
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM
from graphprior.graphs.matrices import check_adjacency, check_known
from graphprior.io.graph_sets import read_graphs, write_npz
from graphprior.io.known import read_beliefs, read_known
from graphprior.io.observations import read_observations
from graphprior.priors.networks.evidence_network import (
    EvidenceNetwork,
    EvidenceNetworkConfig,
    EvidenceNetworkPrior,
)
from graphprior.priors.store import (
    load_checkpoint,
    load_prior,
    read_card,
    save_checkpoint,
    save_prior,
)
from graphprior.priors.training.cross_entropy import CrossEntropy
from graphprior.priors.training.training import TrainingConfig, new_state
from graphprior.results.folder import read_result, write_result
from graphprior.results.result import Result
from oracles import random_graph, random_problem

NAMES = ["a", "b", "c", "d"]
HANG = 20  # seconds after which a reader is taken to hang
SMALL = EvidenceNetworkConfig(layers=1, channels=4, paths=2, hidden=4)
TOKENS = [
    b"", b"0", b"-1", b"1e999", b"nan", b"99999999999999999999", b"4294967296", b"\x00",
    b"\xff\xfe",
    b",", b";", b"\t", b"\n", b'"', b"'", b"[", b"{", b"]" * 40, b"[" * 3000, b"{\"a\":" * 3000,
    b"<!DOCTYPE x [<!ENTITY y 'z'>]>", b"&y;", b"<node id='a'/>", b"<a>" * 500, b"null", b"true",
    b"source", b"directed 1", b"\xe2\x80\xa8", b"\r", b"#", b"((((((((((", b"1_000", b"0x10",
]  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader, a folder that it reads, the file of it that is damaged, and what it must give."""

    name: str
    files: dict[str, bytes]
    target: str
    read: Callable[[Path], object]


def damage(rng, content: bytes) -> bytes:
    """A few random changes of a file, or nothing of it left."""
    if rng.random() < 0.03:
        return rng.bytes(int(rng.integers(0, 200)))
    inside = _inside(content)
    if inside is not None and rng.random() < 0.7:
        return inside(rng, content)
    return _break(rng, content)


def _inside(content: bytes):
    """How to break the inside of an archive and close it again, for formats that are one."""
    if content[:2] == b"PK":
        return _break_zip
    if content[:2] == b"\x1f\x8b":
        return lambda rng, packed: gzip.compress(_break(rng, gzip.decompress(packed)), 1)
    if content[8:9] == b"{":  # safetensors
        return _break_safetensors
    return None


def _break_zip(rng, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = sorted(members)[int(rng.integers(len(members)))]
    if rng.random() < 0.1:
        del members[name]
    else:
        members[name] = _break(rng, members[name])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return out.getvalue()


def _break_safetensors(rng, content):
    size = int.from_bytes(content[:8], "little")
    header = _break(rng, content[8 : 8 + size])
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def _break(rng, content: bytes) -> bytes:
    for _ in range(int(rng.choice([1, 1, 1, 2, 4, 8]))):
        content = WAYS[int(rng.integers(len(WAYS)))](rng, content)
    return content


def _place(rng, content):
    return int(rng.integers(len(content) + 1))


def _slice(rng, content, most=60):
    start = _place(rng, content)
    return slice(start, start + int(rng.integers(1, most)))


def _flip(rng, content):
    if not content:
        return b"?"
    at = _place(rng, content[:-1])
    return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]


def _cut(rng, content):
    return content[: _place(rng, content)]


def _remove(rng, content):
    part = _slice(rng, content)
    return content[: part.start] + content[part.stop :]


def _insert(rng, content):
    at = _place(rng, content)
    return content[:at] + rng.bytes(int(rng.integers(1, 8))) + content[at:]


def _duplicate(rng, content):
    part = _slice(rng, content)
    return content[: part.stop] + content[part] * int(rng.integers(1, 4)) + content[part.stop :]


def _token(rng, content):
    at = _place(rng, content)
    return content[:at] + TOKENS[int(rng.integers(len(TOKENS)))] + content[at:]


def _number(rng, content):
    """A digit becomes another number."""
    at = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if not at:
        return content
    i = at[int(rng.integers(len(at)))]
    number = (b"7", b"0", b"-3", b"1e9", b"123456789012", b"0.5", b"")[int(rng.integers(7))]
    return content[:i] + number + content[i + 1 :]


def _line(rng, content):
    """A line moves, or goes."""
    lines = content.split(b"\n")
    part = lines.pop(int(rng.integers(len(lines))))
    if rng.random() < 0.5:
        lines.insert(int(rng.integers(len(lines) + 1)), part)
    return b"\n".join(lines)


WAYS = (_flip, _cut, _remove, _insert, _duplicate, _token, _number, _line)


@contextmanager
def no_hang():
    """An error, not patience, for a reader that does not come back."""

    def stop(*_):
        raise TimeoutError(f"no answer after {HANG} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def accepts(reader: Reader, folder: Path, content: bytes) -> bool:
    """Whether the damaged file is accepted; whatever breaks the law is raised."""
    (folder / reader.target).write_bytes(content)
    before = sorted(path.name for path in folder.iterdir())
    try:
        with no_hang():
            reader.read(folder)
    except GraphPriorError:
        accepted = False
    else:
        accepted = True
    assert sorted(path.name for path in folder.iterdir()) == before, "a file was left behind"
    return accepted


def place(reader: Reader, folder: Path) -> None:
    """The reader's valid files in a folder."""
    for name, content in reader.files.items():
        (folder / name).write_bytes(content)


def readers(folder: Path) -> dict[str, Reader]:
    """Every reader of the package; ``folder`` is for making valid files."""
    made = [*_observations(folder), *_known(folder), *_graph_sets(folder), *_own(folder)]
    return {reader.name: reader for reader in made}


def _observations(folder):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((5, 4)).round(3), columns=NAMES)
    X.to_csv(folder / "x.csv", index=False)
    X.to_csv(folder / "x.tsv", index=False, sep="\t")
    X.to_csv(folder / "x.csv.gz", index=False)
    X.to_parquet(folder / "x.parquet")
    X.to_excel(folder / "x.xlsx", index=False)
    np.savez(folder / "x.npz", X=X.to_numpy(), names=np.array(NAMES))
    (folder / "semicolons.csv").write_text(X.to_csv(index=False, sep=";", decimal=","))

    def read(path):
        table = read_observations(path)
        assert table.shape[0] >= 2
        assert table.shape[1] >= 2
        assert all(dtype == np.float64 for dtype in table.dtypes)

    for name in ("x.csv", "semicolons.csv", "x.tsv", "x.csv.gz", "x.parquet", "x.xlsx", "x.npz"):
        yield _one_file(f"observations {name}", folder, name, read)


def _one_file(what, folder, name, read):
    files = {name: (folder / name).read_bytes()}
    return Reader(what, files, name, lambda place: read(place / name))


def _known(folder):
    table = pd.DataFrame(
        [["a", "b", "1", ""], ["b", "c", "0", ""], ["c", "d", "", "0.25"]],
        columns=["source", "target", "present", "probability"],
    )
    table.to_csv(folder / "table.csv", index=False)
    table.to_csv(folder / "table.tsv", index=False, sep="\t")
    table.to_parquet(folder / "table.parquet")
    table.to_excel(folder / "table.xlsx", index=False)
    A = np.array([[0, 1, np.nan, 0], [1, 0, 0, 1], [np.nan, 0, 0, 0], [0, 1, 0, 0]])
    pd.DataFrame(A, NAMES, NAMES).to_csv(folder / "matrix.csv")
    graph = nx.Graph([("a", "b", {"present": 1}), ("c", "d", {"probability": 0.5})])
    nx.write_graphml(graph, folder / "known.graphml")

    def read(path):
        check_known(read_known(path, NAMES), n=4)
        beliefs = read_beliefs(path, NAMES)
        assert beliefs is None or ((beliefs > 0) & (beliefs < 1) | np.isnan(beliefs)).all()

    names = ("table.csv", "table.tsv", "table.parquet", "table.xlsx", "matrix.csv", "known.graphml")
    for name in names:
        yield _one_file(f"known {name}", folder, name, read)


def _check_graphs(graphs):
    for A in graphs:
        check_adjacency(A)


def _graph_sets(folder):
    rng = np.random.default_rng(1)
    graphs = [random_graph(rng, n, 0.5) for n in (4, 5)]
    write_npz(folder / "set.npz", graphs)
    lists = {str(g): np.argwhere(np.triu(A)).tolist() for g, A in enumerate(graphs)}
    (folder / "set.json").write_text(json.dumps(lists))
    one = nx.from_numpy_array(graphs[0], edge_attr=None)
    nx.write_graphml(one, folder / "g.graphml")
    nx.write_gml(one, folder / "g.gml")
    nx.write_edgelist(one, folder / "g.edges", data=False)
    for name in ("set.npz", "set.json"):
        yield _one_file(f"graphs {name}", folder, name, lambda p: _check_graphs(read_graphs(p)))
    for name in ("g.graphml", "g.gml", "g.edges"):
        read = lambda path: _check_graphs(read_graphs(path.parent))  # noqa: E731
        yield _one_file(f"graphs {name}", folder, name, read)
    tu = {"T_A.txt": b"1, 2\n2, 1\n3, 4\n4, 3\n", "T_graph_indicator.txt": b"1\n1\n2\n2\n2\n"}
    for target in tu:
        yield Reader(f"graphs {target}", tu, target, lambda p: _check_graphs(read_graphs(p)))


def _own(folder):
    _, problem = random_problem(np.random.default_rng(3), n=4, k=40)
    with notes():
        model = PartialGGM(None, engine=Gibbs(draws=3), random_state=0).fit(
            problem.X, known=problem.known
        )
    write_result(folder, Result.of(model, {"command": "estimate"}))
    result = {name: (folder / name).read_bytes() for name in ("result.npz", "run.json")}

    def read(path):
        found = read_result(path)
        assert len(found.edge_table()) == 6
        assert isinstance(found.meaning, str)

    for target in result:
        yield Reader(f"result {target}", result, target, read)
    save_prior(
        EvidenceNetworkPrior(EvidenceNetwork(SMALL)), folder / "p.safetensors", {"name": "p"}
    )
    prior = {name: (folder / name).read_bytes() for name in ("p.safetensors", "p.json")}
    yield Reader("prior p.safetensors", prior, "p.safetensors",
                 lambda p: load_prior(p / "p.safetensors").posterior_logits)  # fmt: skip
    yield Reader("prior p.json", prior, "p.json", lambda p: read_card(p / "p.safetensors").items())
    config = TrainingConfig(steps=1, objective=CrossEntropy(network=SMALL))
    save_checkpoint(folder / "p.checkpoint", new_state(config, "cpu"), config, "data")
    yield _one_file("prior p.checkpoint", folder, "p.checkpoint",
                    lambda path: load_checkpoint(path, config, "data").network)  # fmt: skip
