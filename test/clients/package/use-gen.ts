// A program that uses `session-pool-client/gen` with the packages that docs/clients.md names. Its arguments are the
// addresses of a server's HTTP port and gRPC port.
import { create, toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { createSessionPoolClient, text, textOf } from "session-pool-client";
import { MessageService, PartSchema } from "session-pool-client/gen";

const [, , httpUrl = "", grpcUrl = ""] = process.argv;
const client = createSessionPoolClient({ transport: createGrpcTransport({ baseUrl: grpcUrl }) });
await client.append("s", text("user", "Hello"), { createSession: true });

const messages = createClient(MessageService, createConnectTransport({ baseUrl: httpUrl, httpVersion: "1.1" }));
const { count } = await messages.countMessages({ sessionId: "s" });
const part = JSON.stringify(toJson(PartSchema, create(PartSchema, { type: "text", text: "Hello" })));
for await (const message of client.history("s")) console.log(textOf(message), part, `${count satisfies bigint}`);
