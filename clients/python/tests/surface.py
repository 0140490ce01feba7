"""Prints which fields of which requests the methods of both clients can set, as JSON.

Calls each method with a value for every parameter, against a server in this process that records what arrives:
`{"SessionPoolClient": {"SessionService.GetSession": ["session_id"], …}, "AsyncSessionPoolClient": {…}}`.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import typing
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from session_pool import (
    AsyncDraft,
    AsyncSessionPoolClient,
    Draft,
    MessageWithParts,
    Part,
    SessionPoolClient,
    Todo,
    Usage,
    text,
)
from sessionpool.v1 import (
    annotation_service_pb2,
    attachment_service_pb2,
    message_service_pb2,
    session_service_pb2,
    todo_service_pb2,
    usage_service_pb2,
)

FILES = (
    annotation_service_pb2,
    attachment_service_pb2,
    message_service_pb2,
    session_service_pb2,
    todo_service_pb2,
    usage_service_pb2,
)
VALUES: Mapping[object, Callable[[], object]] = {
    bool: lambda: True,
    bytes: lambda: b"x",
    int: lambda: 1,
    str: lambda: "x",
    datetime: lambda: datetime.now(timezone.utc),
    MessageWithParts: lambda: text("user", "x"),
    Part: lambda: Part(type="x"),
    Todo: lambda: Todo(content="x"),
    Usage: lambda: Usage(input_tokens=1),
}


class Recorder(grpc.GenericRpcHandler):
    """Answers every call with next to nothing, but each list with a second page."""

    def __init__(self) -> None:
        self.fields: dict[str, set[str]] = defaultdict(set)
        services = [service for file in FILES for service in file.DESCRIPTOR.services_by_name.values()]
        self._methods = {f"/{of.full_name}/{one.name}": one for of in services for one in of.methods}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        method = self._methods[handler_call_details.method]
        answer_type = GetMessageClass(method.output_type)

        def answer(request: Message, _context: object) -> Message:
            name = f"{method.containing_service.name}.{method.name}"
            self.fields[name].update(field.name for field, _ in request.ListFields())
            answer = answer_type()
            if "next_page_token" in method.output_type.fields_by_name:
                answer.next_page_token = "" if request.page_token else "more"  # type: ignore[attr-defined]
            if "version" in method.output_type.fields_by_name:
                answer.version = 1  # type: ignore[attr-defined]
            return answer

        def stream(request: Message, context: object) -> Iterator[Message]:
            event = answer(request, context)
            if "resume_token" in method.output_type.fields_by_name:
                event.resume_token = "x"  # type: ignore[attr-defined]
            yield event

        def upload(requests: Iterator[Message], context: object) -> Message:
            return [answer(request, context) for request in requests][-1]

        request_type = GetMessageClass(method.input_type)
        if method.client_streaming:
            return grpc.stream_unary_rpc_method_handler(
                upload, request_type.FromString, answer_type.SerializeToString
            )
        make = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
        handle: Any = stream if method.server_streaming else answer
        return make(handle, request_type.FromString, answer_type.SerializeToString)


def value_of(hint: Any) -> object:
    """Returns a value of a type, of the first one that can be told apart from an absent field."""
    if hint in VALUES:
        return VALUES[hint]()
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments[-1]
    if origin is not None and origin in (Mapping, Iterable, Callable):
        return {"k": "v"} if origin is Mapping else [value_of(arguments[0])] if origin is Iterable else (lambda *_: None)
    return value_of(arguments[0])


def arguments_of(method: Callable[..., object]) -> dict[str, object]:
    hints = typing.get_type_hints(method)
    return {name: value_of(hints[name]) for name in inspect.signature(method).parameters}


async def use(result: Any) -> None:
    """Uses what a method returned: awaits it, reads two pages of it, or writes a draft to its end."""
    if inspect.isawaitable(result):
        await result
    elif inspect.isasyncgen(result):
        async for _ in result:
            break
        await result.aclose()
    elif inspect.isgenerator(result):
        list(itertools.islice(result, 1))
    elif isinstance(result, AsyncDraft):
        async with result:
            await result.write("x")
            await result.finish(**arguments_of(result.finish))
    elif isinstance(result, Draft):
        with result:
            result.write("x")
            result.finish(**arguments_of(result.finish))


async def surface_of(client: Any, recorder: Recorder) -> dict[str, list[str]]:
    recorder.fields.clear()
    for name, method in inspect.getmembers(client, inspect.ismethod):
        if not name.startswith("_") and name != "close":
            await use(method(**arguments_of(method)))
    return {name: sorted(fields) for name, fields in sorted(recorder.fields.items())}


async def main() -> None:
    recorder = Recorder()
    server = grpc.server(ThreadPoolExecutor(4), handlers=[recorder])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with SessionPoolClient(address) as client:
        surface = {"SessionPoolClient": await surface_of(client, recorder)}
    async with AsyncSessionPoolClient(address) as far:
        surface["AsyncSessionPoolClient"] = await surface_of(far, recorder)
    print(json.dumps(surface))
    server.stop(None)


if __name__ == "__main__":
    asyncio.run(main())
