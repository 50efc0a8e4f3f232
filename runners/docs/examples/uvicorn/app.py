"""An ASGI application for uvicorn: `pip install uvicorn`."""

from typing import Any

HELLO = b"hello\n"
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"6")]}
BODY = {"type": "http.response.body", "body": HELLO}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    await send(HEAD)
    await send(BODY)
