from session_pool import SessionPoolClient, text, text_of

with SessionPoolClient("127.0.0.1:50051") as client:
    client.append("first", text("user", "When do the azaleas bloom?"), create_session=True)
    client.append("first", text("assistant", "Late April to the middle of May."))
    for message in client.list_messages("first"):
        print(message.info.position, message.info.role, text_of(message))
