"""Pictures as data that a page can hold."""

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image


class Picture(NamedTuple):
    """A picture with a few words about it."""

    png: bytes
    title: str
    lines: tuple[str, ...] = ()


def png_of(pixels: UInt8[np.ndarray, "height width 3"]) -> bytes:
    """Return a small PNG, of at most 64 colours."""
    stream = io.BytesIO()
    image = Image.fromarray(pixels).quantize(64, dither=Image.Dither.NONE)
    image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def gif_of(frames: Sequence[UInt8[np.ndarray, "height width 3"]], *, fps: float) -> bytes:
    """Return frames as a GIF; the last one stays a little longer."""
    images = [Image.fromarray(frame) for frame in frames]
    durations = [round(1000 / fps)] * (len(images) - 1) + [1200]
    stream = io.BytesIO()
    images[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=durations,
        loop=0,
    )
    return stream.getvalue()


def as_uri(content: bytes | str, kind: str) -> str:
    """Return data as an address that needs no other file."""
    data = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
