"""A conversation that is kept, forked, reverted and followed, with the client for Python."""

import sys

from session_pool import SessionPoolClient, text, text_of


def main(address):
    with SessionPoolClient(address) as client:
        trip = client.create_session(title="Kyoto in May").session_id
        question = text("user", "When do the azaleas bloom?")
        first, again = client.append(trip, question), client.append(trip, question)
        print(f"question at {first.position}, sent again at {again.position}")
        client.append(trip, text("assistant", "Late April to the middle of May."))

        fork = client.fork_session(trip, up_to_message_id=question.info.id)
        count = client.count_messages(trip)
        print(f"the fork begins with {fork.inherited_count} of {count} messages")
        client.append(fork.session_id, text("assistant", "Early May, before the holidays end."))
        for name, session_id in (("trip", trip), ("fork", fork.session_id)):
            print(f"{name}: {text_of(client.load_session(session_id, limit=1).messages[0])}")

        removed = client.revert_session(trip, up_to_message_id=question.info.id)
        print(f"revert removed {removed}, unrevert restored {client.unrevert_session(trip)}")

        for event in client.watch(trip, from_position=0):
            shown = event.appended
            print(f"followed {shown.info.role}: {text_of(shown)}")
            if shown.info.position == count - 1:
                break


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
