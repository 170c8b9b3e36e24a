"""The notebooks of the docs: made from plain sources, and executed.

    python scripts/notebooks.py [FOLDER]

Each docs/notebooks/NAME.py, in which `# %%` begins a cell, becomes docs/notebooks/NAME.ipynb with
what its cells show (or FOLDER/NAME.ipynb). Pictures have few colours, so that files stay small.
"""

import base64
import json
import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

SOURCES = Path(__file__).parent.parent / "docs" / "notebooks"
COLOURS = 64


def cells(source: str) -> list[Any]:
    """The cells of a plain source; text stands in comments, and so do lines that begin with %."""
    found = []
    for part in source.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n")]
            found.append(nbformat.v4.new_markdown_cell("\n".join(lines)))
        else:
            found.append(nbformat.v4.new_code_cell(re.sub(r"^# %", "%", body.strip(), flags=re.M)))
    for number, cell in enumerate(found):
        cell["id"] = f"cell-{number}"  # not drawn at random: same source, same file
    return found


def lighter(picture: str) -> str:
    """A picture in few colours, as text."""
    drawn, content = Image.open(BytesIO(base64.b64decode(picture))).convert("RGB"), BytesIO()
    few = drawn.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(content, "PNG", optimize=True)
    return base64.b64encode(content.getvalue()).decode()


def is_object(output: Any) -> bool:
    """Whether all that is shown is what an object is, such as axes that were drawn on."""
    data = output.get("data", {})
    return set(data) == {"text/plain"} and data["text/plain"].startswith("<")


def warnings(text: str) -> str:
    """What warnings say, without the places in which they were raised."""
    return "\n".join(re.findall(r"\w+Warning: .*", text))


def executed(source: str) -> Any:
    """The notebook of a plain source with what its cells show; an error in one is an error."""
    facts = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells(source), metadata=facts)
    NotebookClient(notebook, timeout=600).execute()
    for cell in notebook.cells:
        cell["metadata"] = {}  # when it was run
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if not is_object(output)]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if output.get("name") == "stderr":
                output["text"] = warnings(output["text"])
            if "image/png" in data:
                data["image/png"] = lighter(data["image/png"])
                data.pop("text/plain", None)
    notebook.metadata = nbformat.from_dict(facts)
    return notebook


def main(out: Path) -> None:
    for path in sorted(SOURCES.glob("*.py")):
        notebook = executed(path.read_text("utf-8"))
        words = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (out / f"{path.stem}.ipynb").write_text(words, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCES)
