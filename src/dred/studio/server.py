"""The server: the page, and what it asks, behind the guard."""

import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from dred.errors import ConfigError
from dred.studio.answers import Asked, route
from dred.studio.guard import Guard, new_token
from dred.studio.jobs import Jobs
from dred.studio.parts import Parts
from dred.studio.places import REPORT, Places

PAGE = Path(__file__).with_name("page")
HOST = "127.0.0.1"
# A report needs nothing but itself, and may do nothing.
REPORT_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)


def new_app(folders: Sequence[Path], *, token: str, port: int) -> ASGIApp:
    """Return the whole server for some folders."""
    return app_of(Parts(Places(folders)), token=token, port=port)


def app_of(parts: Parts, *, token: str, port: int) -> ASGIApp:
    """Return the whole server, given its parts."""
    places = parts.places
    jobs = Jobs(places)

    def report(asked: Asked) -> Response:
        path = places.find(asked.text("report"))
        if path.name != REPORT:
            raise ConfigError(f"{asked.text('report')!r} is not a page that `dred report` wrote.")
        return FileResponse(path, headers={"content-security-policy": REPORT_POLICY})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        jobs.close()

    asked: list[BaseRoute] = [
        *parts.routes(),
        *jobs.routes(parts),
        route("GET", "folder", lambda asked: places.listed()),
        route("GET", "report", report),
    ]
    page = StaticFiles(directory=PAGE, html=True)
    whole = [
        Route(f"/{token}", lambda request: RedirectResponse(f"/{token}/")),
        Mount(f"/{token}", routes=[*asked, Mount("/", page)]),
    ]
    return Guard(Starlette(routes=whole, lifespan=lifespan), token=token, port=port)


def serve(folders: Sequence[Path], *, port: int, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `tell` hears the address."""
    import uvicorn

    with bound(port) as listening:
        port = int(listening.getsockname()[1])
        token = new_token()
        parts = Parts(Places(folders))
        app = app_of(parts, token=token, port=port)
        settings = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(settings)
        threading.Thread(target=_warm_up, args=(parts,), daemon=True).start()
        tell(f"http://{HOST}:{port}/{token}/")
        with suppress(KeyboardInterrupt):  # which is how it ends
            server.run(sockets=[listening])


def bound(port: int) -> socket.socket:
    """Return a socket that listens at a port, or at any that is free.

    A browser that is quicker than the server then waits for it.
    It is named as TCP, as asyncio else leaves Nagle's algorithm on: the body of each answer would
    wait some 40 ms for the browser to acknowledge its head.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"Port {port} cannot be used: {error.strerror}. Give another --port, or none."
        ) from None
    return listening


def _warm_up(parts: Parts) -> None:
    """Import and compile, before anybody asks, what drawing and an agent's first step need."""
    parts.ready()
    from dred import pretrained
    from dred.levels import from_text
    from dred.studio.drawing import inspected
    from dred.tasks.gridworld.tries import try_level

    open_room = "\n".join(["S" + "." * 12, *["." * 13] * 11, "." * 12 + "G"])
    name = next(iter(pretrained.catalogue()))
    level = from_text(open_room)
    inspected(level)
    try_level(level, pretrained.load(name), actions=(2,), plays_on=False)
