"""A first section for a page: pictures with a sentence each."""

from collections.abc import Mapping
from html import escape

from dred.reports.pictures import as_uri


def story(pictures: Mapping[str, bytes]) -> str:
    """Pictures (PNG) as figures, with their sentences below."""
    return "".join(
        f'<figure class="story"><img src="{as_uri(png, "image/png")}" alt="{escape(words)}">'
        f"<figcaption>{escape(words)}</figcaption></figure>"
        for words, png in pictures.items()
    )
