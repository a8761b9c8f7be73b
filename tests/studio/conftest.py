import pytest
from starlette.testclient import TestClient

from dred.levels import from_text
from dred.studio.guard import new_token
from dred.studio.server import new_app
from dred.tasks.gridworld.levels.dataset import from_levels

PORT = 8123
DRAWINGS = ("S..\n.#.\n..G", "S#.\n.#.\n.#G", "S,,\n.~.\n..G", "G..\n...\n..>")


class Page:
    """A page of the server: asks as a browser would."""

    def __init__(self, folder, *also):
        self.folder, self.token = folder, new_token()
        self.host = f"127.0.0.1:{PORT}"
        app = new_app([folder, *also], token=self.token, port=PORT)
        self.client = TestClient(app, base_url=f"http://{self.host}")

    def get(self, path, **query):
        return self.client.get(f"/{self.token}/api/{path}", params=query)

    def post(self, path, **body):
        headers = {"origin": f"http://{self.host}"}
        return self.client.post(f"/{self.token}/api/{path}", json=body, headers=headers)


@pytest.fixture
def folder(tmp_path):
    served = tmp_path / "here"
    served.mkdir()
    levels = from_levels(map(from_text, DRAWINGS), structure=["open", "cut", "open", "open"])
    levels.save(served / "few.npz")
    return served


@pytest.fixture
def page(folder):
    return Page(folder)
