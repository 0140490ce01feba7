"""A conversation that is kept, forked, reverted and followed, with grpcio."""

import sys

import grpc
from sessionpool.v1 import message_service_pb2 as messages_pb
from sessionpool.v1 import message_service_pb2_grpc, session_service_pb2_grpc
from sessionpool.v1 import session_service_pb2 as sessions_pb


def message(message_id, role, text):
    """A message with an id of our own, so that sending it again stores nothing twice."""
    return messages_pb.MessageWithParts(
        info=messages_pb.MessageInfo(id=message_id, role=role),
        parts=[messages_pb.Part(type="text", text=text)],
    )


def main(address):
    with grpc.insecure_channel(address) as channel:
        sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        messages = message_service_pb2_grpc.MessageServiceStub(channel)

        def append(session_id, one):
            return messages.AppendMessage(messages_pb.AppendMessageRequest(session_id=session_id, message=one))

        def last_text(session_id):
            page = messages.ListMessages(
                messages_pb.ListMessagesRequest(session_id=session_id, limit=1, newest_first=True)
            )
            return page.messages[0].parts[0].text

        trip = sessions.CreateSession(sessions_pb.CreateSessionRequest(title="Kyoto in May")).session_id
        question = message("question", "user", "When do the azaleas bloom?")
        first, again = append(trip, question), append(trip, question)
        print(f"question at {first.position}, sent again at {again.position}")
        append(trip, message("answer", "assistant", "Late April to the middle of May."))

        fork = sessions.ForkSession(sessions_pb.ForkSessionRequest(session_id=trip, up_to_message_id="question"))
        count = messages.CountMessages(messages_pb.CountMessagesRequest(session_id=trip)).count
        print(f"the fork begins with {fork.copied_count} of {count} messages")
        append(fork.session.session_id, message("answer", "assistant", "Early May, before the holidays end."))
        print(f"trip: {last_text(trip)}")
        print(f"fork: {last_text(fork.session.session_id)}")

        reverted = sessions.RevertSession(
            sessions_pb.RevertSessionRequest(session_id=trip, up_to_message_id="question")
        )
        restored = sessions.UnrevertSession(sessions_pb.UnrevertSessionRequest(session_id=trip))
        print(f"revert removed {reverted.removed_count}, unrevert restored {restored.restored_count}")

        events = messages.WatchMessages(messages_pb.WatchMessagesRequest(session_id=trip, from_position=0))
        for event in events:
            if event.WhichOneof("event") != "appended":
                continue
            shown = event.appended
            print(f"followed {shown.info.role}: {shown.parts[0].text}")
            if shown.info.position == count - 1:
                break
        events.cancel()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
