"""Who may ask: pages of this server only, with the token that its address has.

A page elsewhere may send requests to 127.0.0.1 through a browser, or have its own name lead there.
The first are known by their Origin, the second by their Host; and neither can know the token, which
is part of every path. Bodies are cut off at a limit, whatever they say of their length.
"""

import secrets
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 4_000_000  # of a request
TOO_LARGE = f"At most {MOST_BYTES:,} bytes are taken in one request."
LOCAL = ("127.0.0.1", "localhost")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


class Guard:
    """Refuses what does not come from this server's own page."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in LOCAL}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in a sentence."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        told = {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}
        refusal = self.refusal(scope["path"], told)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _limited(receive), _with_headers(send))

    def refusal(self, path: str, told: Mapping[str, str]) -> PlainTextResponse | None:
        """Return why a request is not answered; None if it is."""
        if told.get("host") not in self.hosts:
            return PlainTextResponse("This server answers at 127.0.0.1 only.", 421)
        if told.get("origin", f"http://{told['host']}") != f"http://{told['host']}":
            return PlainTextResponse("This server answers its own page only.", 403)
        if told.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("This server answers its own page only.", 403)
        given = path.lstrip("/").partition("/")[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return PlainTextResponse(
                "Open the address that `dred studio` printed: it ends with a token.", 403
            )
        length = told.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return PlainTextResponse(TOO_LARGE, 413)
        return None


def _limited(receive: Receive) -> Receive:
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MOST_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            extra = [(name.encode(), text.encode()) for name, text in HEADERS.items()]
            message["headers"] = [
                *message["headers"],
                *((name, text) for name, text in extra if name not in there),
            ]
        await send(message)

    return sent
