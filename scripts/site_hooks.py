"""What the site needs beside docs/: pictures and tables of results/, and pages of notebooks.

In the repository a page links to `../results/...`, so that it reads well there; on the site the
same files stand below its root. A notebook is shown as it was executed (scripts/notebooks.py).
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\(((?:\.\./)+)results/([^)#\s]+)")


def linked(text: str) -> set[str]:
    """Files under results/ that a page links to."""
    return {match[2] for match in LINK.finditer(text)}


def page_of(notebook: dict[str, Any], name: str) -> str:
    """A notebook and what its cells showed, as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace(".ipynb)", ".md)"))
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [shown(output) for output in cell["outputs"]]
    return "\n\n".join([*parts, f"[Download this notebook]({name})"]) + "\n"


def shown(output: dict[str, Any]) -> str:
    """What a cell showed: text, a table, or a picture, which is part of the page."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="what the cell above draws" src="data:image/png;base64,{picture}">'
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return "\n".join(line for line in table.split("\n") if line.strip())
    return f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"


def on_files(files: Files, config: Any) -> Files:
    """Add what pages link to under results/, and a page for each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        notebook = json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))
        content = page_of(notebook, Path(file.src_uri).name)
        name = file.src_uri.removesuffix(".ipynb") + ".md"
        files.append(File.generated(config, name, content=content))
    wanted: set[str] = set()
    for page in files.documentation_pages():
        wanted |= linked(page.content_string)
    for name in sorted(wanted):
        source = ROOT / "results" / name
        if source.is_file():  # one that is missing is a broken link, which ends the build
            files.append(File.generated(config, f"results/{name}", abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to results/ from where the page stands on the site."""
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(lambda match: f"]({up}results/{match[2]}", markdown)
