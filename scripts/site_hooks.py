"""What the site needs beside docs/: pictures and tables of results/, which live outside it.

In the repository a page links to `../results/...`, so that it reads well there; on the site the
same files stand below its root.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\(((?:\.\./)+)results/([^)#\s]+)")


def linked(text: str) -> set[str]:
    """Files under results/ that a page links to."""
    return {match[2] for match in LINK.finditer(text)}


def on_files(files: Files, config: Any) -> Files:
    """Add what pages link to under results/."""
    wanted: set[str] = set()
    for page in files.documentation_pages():
        wanted |= linked(Path(str(page.abs_src_path)).read_text(encoding="utf-8"))
    for name in sorted(wanted):
        source = ROOT / "results" / name
        if source.is_file():  # one that is missing is a broken link, which ends the build
            files.append(File.generated(config, f"results/{name}", abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to results/ from where the page stands on the site."""
    up = "../" * page.file.src_uri.count("/")
    return LINK.sub(lambda match: f"]({up}results/{match[2]}", markdown)
