"""Every reader gives a valid value or a refusal, whatever the file; more by scripts/fuzz.py."""

import json
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzing import accepts, damage, place, readers
from graphprior.errors import GraphPriorError
from graphprior.io.graph_sets import read_graphs
from graphprior.io.observations import read_observations
from graphprior.io.safe import read_arrays, read_graphml
from graphprior.io.tables import SUFFIXES
from graphprior.priors.store import load_prior

with tempfile.TemporaryDirectory() as made:
    READERS = readers(Path(made))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


def refused(message):
    return pytest.raises(GraphPriorError, match=message)


@pytest.fixture
def folder(request, tmp_path):
    place(READERS[request.getfixturevalue("name")], tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", READERS)
def test_a_whole_file_is_accepted(name, folder):
    reader = READERS[name]
    assert accepts(reader, folder, reader.files[reader.target])


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused(name, folder):
    reader = READERS[name]
    for number in range(200):
        content = damage(np.random.default_rng(number), reader.files[reader.target])
        accepts(reader, folder, content)


@pytest.mark.parametrize("name", READERS)
def test_bytes_that_are_nothing_are_read_or_refused(name, folder):
    @settings(max_examples=40)
    @given(st.binary(max_size=100) | st.text(max_size=50).map(str.encode))
    def law(content):
        accepts(READERS[name], folder, content)

    law()


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(".json")])
def test_json_of_any_form_is_read_or_refused(name, folder):
    @given(json_values)
    def law(value):
        accepts(READERS[name], folder, json.dumps(value).encode())

    law()


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(".json")])
def test_json_too_deep_is_refused(name, folder):
    assert not accepts(READERS[name], folder, b"[" * 100_000)


def npy(shape, dtype="<f8", body=b""):
    out = BytesIO()
    header = {"shape": shape, "fortran_order": False, "descr": dtype}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + body


@pytest.mark.parametrize("shape", [(10**9, 10**9), (2**40,), (2**62, 4), (3, 1), (0, 10**18)])
def test_an_array_is_no_larger_than_its_bytes(tmp_path, shape):
    with zipfile.ZipFile(path := tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", npy(shape, body=b"\0" * 8))
    with refused("declares"):
        read_arrays(path, "a table")


def test_a_zip_that_unfolds_beyond_memory_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(path := tmp_path / "x.npz", X=np.zeros((500, 500)))
    assert path.stat().st_size < 10**4
    assert read_arrays(path, "a table")["X"].shape == (500, 500)
    memory = type("Memory", (), {"available": 10**6})
    monkeypatch.setattr("graphprior.io.safe.psutil.virtual_memory", lambda: memory)
    with refused("unfolds to 0.0 GB"):
        read_arrays(path, "a table")


LAUGHS = "".join(
    f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' if i else '<!ENTITY l0 "ha">' for i in range(20)
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_that_multiply_are_refused(tmp_path, encoding):
    start = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = f"{start}<!DOCTYPE g [{LAUGHS}]><graphml>&l19;</graphml>"
    (path := tmp_path / "g.graphml").write_bytes(text.encode(encoding))
    with refused("entities"):
        read_graphml(path)


def test_entities_in_a_sheet_are_refused(tmp_path):
    files = READERS["observations x.xlsx"].files["x.xlsx"]
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(files)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            bad = f"<!DOCTYPE g [{LAUGHS}]>".encode() if name.endswith("sheet1.xml") else b""
            new.writestr(name, bad + old.read(name))
    (path := tmp_path / "x.xlsx").write_bytes(out.getvalue())
    with refused("entities"):
        read_observations(path)


@pytest.mark.parametrize(
    "content", ['{"a": [[0, 1], [0, 999999999]]}', '{"a": [[0, 99999999999999999999]]}']
)
def test_a_graph_too_large_for_memory_is_refused(tmp_path, content):
    (path := tmp_path / "g.json").write_text(content)
    with refused("g.json"):
        read_graphs(path)


@pytest.mark.parametrize("field", ["layers", "channels", "paths", "hidden"])
@pytest.mark.parametrize("value", [10**4, 10**7, 2**40, -1, 0.5, None, "4", [4]])
def test_a_header_does_not_make_a_network_larger_than_its_weights(tmp_path, field, value):
    content = READERS["prior p.safetensors"].files["p.safetensors"]
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    config = {**json.loads(header["__metadata__"]["config"]), field: value}
    header["__metadata__"]["config"] = json.dumps(config)
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    (path := tmp_path / "p.safetensors").write_bytes(
        len(packed).to_bytes(8, "little") + packed + content[8 + size :]
    )
    with refused("weights and header do not agree"):
        load_prior(path)


def test_every_format_of_tables_is_fuzzed():
    fuzzed = {name.split()[1].split(".", 1)[1] for name in READERS if "observations" in name}
    assert {suffix.removeprefix(".") for suffix in SUFFIXES} - fuzzed == {"tsv.gz"}
