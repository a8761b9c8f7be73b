"""How to install what only some people need."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlparse


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of dred, where dred came from."""
    try:
        told = distribution("dred").read_text("direct_url.json")
    except PackageNotFoundError:
        told = None
    origin = json.loads(told) if told else {}
    url = urlparse(str(origin.get("url", "")))
    if url.scheme != "file":
        return f"pip install '.[{extra}]', in a checkout of dred"
    editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}'{unquote(url.path)}[{extra}]'"
