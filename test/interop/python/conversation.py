"""Stores, reads and changes a conversation with grpcio, and prints the results as JSON."""

import json
import sys

import grpc
from google.protobuf import json_format
from sessionpool.v1 import attachment_service_pb2 as attachments_pb
from sessionpool.v1 import attachment_service_pb2_grpc, message_service_pb2_grpc, session_service_pb2_grpc, todo_service_pb2_grpc
from sessionpool.v1 import message_service_pb2 as messages_pb
from sessionpool.v1 import session_service_pb2 as sessions_pb
from sessionpool.v1 import todo_service_pb2 as todos_pb

BATCH = 10


class Client:
    def __init__(self, channel):
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.messages = message_service_pb2_grpc.MessageServiceStub(channel)
        self.attachments = attachment_service_pb2_grpc.AttachmentServiceStub(channel)
        self.todos = todo_service_pb2_grpc.TodoServiceStub(channel)
        self.tracker = todo_service_pb2_grpc.TodoTrackerServiceStub(channel)

    def store(self, session_id, path):
        """Appends the first half of the messages one by one, and the second half in batches."""
        self.sessions.CreateSession(sessions_pb.CreateSessionRequest(session_id=session_id, title="Fähren 京都"))
        with open(path, encoding="utf-8") as file:
            messages = [json_format.ParseDict(one, messages_pb.MessageWithParts()) for one in json.load(file)]
        half = len(messages) // 2
        for place, message in enumerate(messages[:half]):
            request = messages_pb.AppendMessageRequest(session_id=session_id, message=message, expected_position=place)
            assert self.messages.AppendMessage(request).position == place
        for place in range(half, len(messages), BATCH):
            batch = messages[place : place + BATCH]
            request = messages_pb.AppendMessagesRequest(session_id=session_id, messages=batch, expected_position=place)
            answer = self.messages.AppendMessages(request)
            assert list(answer.message_ids) == [message.info.id for message in batch]
        return {"stored": len(messages)}

    def read(self, session_id, limit):
        """Returns all messages, which it reads page by page."""
        request = messages_pb.ListMessagesRequest(session_id=session_id, limit=int(limit))
        messages = []
        while True:
            page = self.messages.ListMessages(request)
            messages += [json_format.MessageToDict(message) for message in page.messages]
            if page.next_page_token == "":
                return messages
            request.page_token = page.next_page_token

    def download(self, session_id, attachment_id):
        """Returns the JSON that an attachment holds."""
        request = attachments_pb.GetAttachmentRequest(session_id=session_id, attachment_id=attachment_id)
        return json.loads(b"".join(answer.chunk for answer in self.attachments.GetAttachment(request)))

    def edit(self, session_id, fork_id, fork_at, revert_to):
        """Forks, reverts the fork, and writes the todos."""
        fork = self.sessions.ForkSession(
            sessions_pb.ForkSessionRequest(session_id=session_id, up_to_message_id=fork_at, new_session_id=fork_id)
        )
        revert = self.sessions.RevertSession(
            sessions_pb.RevertSessionRequest(session_id=fork_id, up_to_message_id=revert_to)
        )
        todos = [
            todos_pb.Todo(id="t1", content="Fahrplan prüfen", status="in_progress", priority="high"),
            todos_pb.Todo(id="t2", content="京都の便を確認", status="pending", priority="low"),
        ]
        self.tracker.ReplaceTodos(todos_pb.ReplaceTodosRequest(todos=todos))
        listed = self.todos.ListTodos(todos_pb.ListTodosRequest(session_id=fork_id))
        return {
            "copied": fork.copied_count,
            "removed": revert.removed_count,
            "todos": json_format.MessageToDict(listed)["todos"],
        }

    def append_until_gone(self, session_id):
        """Appends messages until the server is gone, and prints the id of each message that was acknowledged."""
        place = 0
        while True:
            info = messages_pb.MessageInfo(id=f"live-{place}", role="user")
            message = messages_pb.MessageWithParts(info=info, parts=[messages_pb.Part(type="text", text="x" * 2000)])
            request = messages_pb.AppendMessageRequest(session_id=session_id, message=message)
            try:
                acknowledged = self.messages.AppendMessage(request).message_id
            except grpc.RpcError as error:
                return {"ended": error.code().name}
            print(json.dumps(acknowledged), flush=True)
            place += 1


def main():
    address, command, *arguments = sys.argv[1:]
    with grpc.insecure_channel(address) as channel:
        print(json.dumps(getattr(Client(channel), command)(*arguments)))


main()
