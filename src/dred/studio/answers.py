"""Answers to what the page asks: JSON, with errors in a paragraph."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dred.errors import ConfigError, DredError


@dataclass(frozen=True)
class Asked:
    """What a request says."""

    query: Mapping[str, str]
    body: bytes

    def text(self, name: str, default: str | None = None) -> str:
        """Return a part of it that is text."""
        said = self._said(name, default)
        if not isinstance(said, str):
            raise ConfigError(f"The page must say {name!r} as text, not {said!r}.")
        return said

    def whole(self, name: str, default: int | None = None, *, most: int = 2**31 - 1) -> int:
        """Return a part of it that is a whole number, from 0 to the most that is allowed."""
        said = self._said(name, default)
        if isinstance(said, str) and said.isdecimal() and len(said) < 12:
            said = int(said)
        if type(said) is not int or not 0 <= said <= most:
            raise ConfigError(f"{name!r} must be a whole number from 0 to {most}, not {said!r}.")
        return said

    def number(self, name: str, default: float | None = None) -> float:
        """Return a part of it that is a number."""
        said = self._said(name, default)
        if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
            raise ConfigError(f"{name!r} must be a number, not {said!r}.")
        return float(said)

    def several(self, name: str, *, most: int) -> list[Any]:
        """Return a part of it that is a list of at most so many."""
        said: object = self._said(name, None)
        if not isinstance(said, list) or len(cast("list[object]", said)) > most:
            raise ConfigError(f"The page must say {name!r} as a list of at most {most}.")
        return cast("list[Any]", said)

    def table(self, name: str) -> dict[str, Any]:
        """Return a part of it that is an object; empty if it says none."""
        said: object = self.json.get(name) or {}
        if not isinstance(said, dict):
            raise ConfigError(f"The page must say {name!r} as an object.")
        return cast("dict[str, Any]", said)

    def has(self, name: str) -> bool:
        """Return whether it says something of that name."""
        return name in self.query or self.json.get(name) is not None

    def _said(self, name: str, default: object) -> Any:  # noqa: ANN401  (JSON)
        said = self.query[name] if name in self.query else self.json.get(name, default)
        if said is None:
            raise ConfigError(f"The page must say {name!r}.")
        return said

    @property
    def json(self) -> dict[str, Any]:
        """Return the body as an object; empty if there is none."""
        if not self.body or "name" in self.query:  # a file, which has its name in the query
            return {}
        try:
            said: object = json.loads(self.body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise ConfigError("The page must send an object in JSON.")
        return cast("dict[str, Any]", said)


Handler = Callable[[Asked], object]


def route(method: str, path: str, handler: Handler) -> Route:
    """Return a route whose handler runs beside others and may take its time."""

    async def answer(request: Request) -> Response:
        asked = Asked(dict(request.query_params), await request.body())
        try:
            return await run_in_threadpool(_answered, handler, asked)
        except asyncio.CancelledError:  # the studio ends, and does not wait for long answers
            return json_answer({"error": "The studio has ended."}, status=503)

    return Route(f"/api/{path}", answer, methods=[method])


def _answered(handler: Handler, asked: Asked) -> Response:
    try:
        found = handler(asked)
    except DredError as error:
        return json_answer({"error": str(error)}, status=400)
    except OSError as error:
        return json_answer({"error": f"The system refused something: {error}."}, status=400)
    return found if isinstance(found, Response) else json_answer(found)


def json_answer(value: object, *, status: int = 200) -> Response:
    """Return a value as JSON; numbers that are not finite are null."""
    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(text, status, {"cache-control": "no-store"}, media_type="application/json")


def plain(value: Any) -> Any:  # noqa: ANN401  (anything that JSON can hold)
    """Return a value with arrays as lists and numbers that are not finite as None."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
