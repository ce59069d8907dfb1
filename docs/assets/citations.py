"""In docstrings `[1]_` is the paper; on the site it becomes a link to its map."""

from typing import Any


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The page with every `[1]_` linked."""
    up = "../" * page.url.count("/")
    return html.replace("[1]_", f'<a href="{up}paper_map.html">[1]</a>')
