import { createSessionPoolClient, text, textOf } from "session-pool-client";

const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080" });
await client.append("first", text("user", "When do the azaleas bloom?"), { createSession: true });
await client.append("first", text("assistant", "Late April to the middle of May."));
for await (const message of client.history("first")) {
  console.log(message.info?.position, message.info?.role, textOf(message));
}
