"""Runs the scenario file with grpcio, and prints one line of JSON for each step."""

import base64
import json
import sys

import grpc
from google.protobuf import json_format, message_factory
from sessionpool.v1 import (
    attachment_service_pb2,
    attachment_service_pb2_grpc,
    message_service_pb2,
    message_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
    todo_service_pb2,
    todo_service_pb2_grpc,
)

TIMEOUT_SECONDS = 120
ANY = "$any"

SERVICES = {
    "SessionService": (session_service_pb2, session_service_pb2_grpc.SessionServiceStub),
    "MessageService": (message_service_pb2, message_service_pb2_grpc.MessageServiceStub),
    "AttachmentService": (attachment_service_pb2, attachment_service_pb2_grpc.AttachmentServiceStub),
    "TodoService": (todo_service_pb2, todo_service_pb2_grpc.TodoServiceStub),
    "TodoTrackerService": (todo_service_pb2, todo_service_pb2_grpc.TodoTrackerServiceStub),
}


class Mismatch(Exception):
    pass


class Scenario:
    def __init__(self, channel):
        self.channel = channel
        self.saved = {}

    def run(self, steps):
        for step in steps:
            try:
                self.run_step(step)
                report = {"step": step["step"], "ok": True}
            except Exception as error:  # Every step is reported, however it failed.
                report = {"step": step["step"], "ok": False, "why": f"{type(error).__name__}: {error}"}
            print(json.dumps(report), flush=True)

    def run_step(self, step):
        service, name = step["rpc"].split(".")
        module, stub_class = SERVICES[service]
        descriptor = module.DESCRIPTOR.services_by_name[service].methods_by_name[name]
        messages = step.get("requests", [step.get("request", {})])
        request_class = message_factory.GetMessageClass(descriptor.input_type)
        requests = [json_format.ParseDict(self.fill(message), request_class()) for message in messages]
        method = getattr(stub_class(self.channel), name)
        request = iter(requests) if "requests" in step else requests[0]
        if "events" in step:
            self.follow(step, method(request, timeout=TIMEOUT_SECONDS))
        else:
            self.call(step, method, request, descriptor.server_streaming)

    def call(self, step, method, request, is_download):
        try:
            answered = method(request, timeout=TIMEOUT_SECONDS)
            answer = json_format.MessageToDict(whole(answered) if is_download else answered)
        except grpc.RpcError as error:
            return self.expect_error(step, error)
        if "error" in step:
            raise Mismatch(f"the call succeeded with {json.dumps(answer)}")
        self.expect("answer", step.get("answer", {}), answer)
        for name, path in step.get("save", {}).items():
            self.saved[name] = pick(answer, path)

    def follow(self, step, stream):
        try:
            self.expect_events(step["events"], stream)
            self.run(step.get("then", []))
            self.expect_events(step.get("moreEvents", []), stream)
            if "error" in step:
                raise Mismatch(f"the stream continued with {next(events_of(stream))}")
        except grpc.RpcError as error:
            self.expect_error(step, error)
        finally:
            stream.cancel()

    def expect_events(self, expected, stream):
        events = events_of(stream)
        for number, event in enumerate(expected):
            self.expect(f"event {number}", event, next(events))

    def expect_error(self, step, error):
        got = {"code": error.code().value[0], "message": error.details()}
        self.expect("error", step.get("error", "none"), got)

    def expect(self, place, expected, got):
        expected = self.fill(expected)
        if expected == ANY:
            if got in (None, "", []):
                raise Mismatch(f"{place} is absent")
        elif expected is None:
            if got is not None:
                raise Mismatch(f"{place} is {json.dumps(got)}, not absent")
        elif isinstance(expected, dict):
            if not isinstance(got, dict):
                raise Mismatch(f"{place} is {json.dumps(got)}, not an object")
            for key, value in expected.items():
                self.expect(f"{place}.{key}", value, got.get(key))
        elif isinstance(expected, list):
            if not isinstance(got, list) or len(got) != len(expected):
                raise Mismatch(f"{place} is {json.dumps(got)}, not {len(expected)} items")
            for number, value in enumerate(expected):
                self.expect(f"{place}[{number}]", value, got[number])
        elif got != expected:
            raise Mismatch(f"{place} is {json.dumps(got)}, not {json.dumps(expected)}")

    def fill(self, value):
        if isinstance(value, str) and value.startswith("$") and value[1:] in self.saved:
            return self.saved[value[1:]]
        if isinstance(value, dict) and "$bytes" in value:
            return base64.b64encode(bytes(n % 251 for n in range(*value["$bytes"]))).decode()
        if isinstance(value, dict):
            return {key: self.fill(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        return value


def whole(download):
    """Returns the first answer of a download, with the bytes of all."""
    first, *others = download
    first.chunk += b"".join(answer.chunk for answer in others)
    return first


def events_of(stream):
    for event in stream:
        if event.WhichOneof("event") != "heartbeat":
            yield json_format.MessageToDict(event)


def pick(answer, path):
    for key in path.split("."):
        answer = answer[int(key)] if isinstance(answer, list) else answer[key]
    return answer


def main():
    scenario_path, grpc_address = sys.argv[1:]
    with open(scenario_path, encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    with grpc.insecure_channel(grpc_address) as channel:
        Scenario(channel).run(steps)


main()
