"""An ASGI application that keeps items in memory, for uvicorn (`pip install uvicorn`)."""

from typing import Any

ITEMS: dict[str, bytes] = {}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    path, status = scope["path"], 200
    if scope["method"] == "PUT":
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        ITEMS[path], content, status = body, b"", 201
    elif path in ITEMS:
        content = ITEMS[path]
    else:
        content, status = b"", 404
    length = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length]})
    await send({"type": "http.response.body", "body": content})
