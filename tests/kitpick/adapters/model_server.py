"""A model that speaks as OpenAI, Anthropic and Google do: it calls the first tool offered, then answers.

It remembers the bodies it was sent. With a script, it says what that says, one entry a request,
or refuses with `refuse`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ARGUMENTS = {"city": "Paris"}
FINAL = "It will rain."


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []
        self.script: list[list[dict[str, Any]]] = []
        """Blocks of a message, output items of a response, or one message of a chat."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def answering() -> Iterator[ModelServer]:
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    if body["messages"][-1]["role"] == "tool" or not body.get("tools"):
        message: dict[str, Any] = {"role": "assistant", "content": FINAL}
    else:
        function = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps(ARGUMENTS)}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    return _completion([message])


def _completion(messages: list[dict[str, Any]]) -> dict[str, Any]:
    (message,) = messages
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def _responses(body: dict[str, Any]) -> dict[str, Any]:
    given = body["input"] if isinstance(body["input"], list) else []
    if any(item.get("type") == "function_call_output" for item in given) or not body.get("tools"):
        text = {"type": "output_text", "text": FINAL, "annotations": []}
        item: dict[str, Any] = {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
    else:
        item = {
            "type": "function_call",
            "id": "f",
            "call_id": "call_1",
            "status": "completed",
            "name": body["tools"][0]["name"],
            "arguments": json.dumps(ARGUMENTS),
        }
    return _response([item])


def _response(output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _messages(body: dict[str, Any]) -> dict[str, Any]:
    last = body["messages"][-1]["content"]
    if (isinstance(last, list) and last[0].get("type") == "tool_result") or not body.get("tools"):
        content: list[dict[str, Any]] = [{"type": "text", "text": FINAL}]
    else:
        use = {"type": "tool_use", "id": "call_1", "name": body["tools"][0]["name"], "input": ARGUMENTS}
        content = [use]
    return _message(content)


def _message(content: list[dict[str, Any]]) -> dict[str, Any]:
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _contents(body: dict[str, Any]) -> dict[str, Any]:
    answered = "functionResponse" in body["contents"][-1]["parts"][0]
    part: dict[str, Any] = {"text": FINAL}
    if not answered:
        name = body["tools"][0]["functionDeclarations"][0]["name"]
        part = {"functionCall": {"name": name, "args": ARGUMENTS}}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}


_SCRIPTED = {"/v1/chat/completions": _completion, "/v1/responses": _response, "/v1/messages": _message}
_ANSWERS = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/messages": _messages,
    "/gemini:generateContent": _contents,  # behind the version, which depends on that of the client
}


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        path, script = self.path.partition("?")[0].rpartition("/models")[2], self.server.script
        refused = script.pop(0)[0]["refuse"] if script and "refuse" in script[0][0] else ""
        if refused:
            said: dict[str, Any] = {"error": {"type": "invalid_request_error", "message": refused}}
        else:
            said = _SCRIPTED[path](script.pop(0)) if script else _ANSWERS[path](body)
        answer = json.dumps(said).encode()
        self.send_response(400 if refused else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass
