import { once } from "node:events";
import { get } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { afterEach, it } from "vitest";
import { MessageWithPartsSchema } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { poll } from "../../../support/poll.js";
import { RestServer } from "./rest-server.js";

/** More text than the operating system buffers for a client that does not read. */
const TEXT = "x".repeat(24 * 1024 * 1024);
const PATH = "/session/s/message/m";

let server: RestServer;
afterEach(() => server.stop());

it.each([1, 2])("an unread answer ends its stream or connection (HTTP/%i)", async (version) => {
  server = await RestServer.start({ limits: { stalledMs: 100 }, http2: version === 2 });
  server.pipeline.answerWith(MessageWithPartsSchema, { parts: [{ type: "text", text: TEXT }] });
  if (version === 1) {
    const request = get({ port: server.port, host: "127.0.0.1", path: PATH, agent: false });
    const [response] = await once(request, "response");
    response.on("error", () => undefined);
    // The client learns of the end only when it reads, so the test asks the server.
    await poll(() => server.pipeline.last.call.signal.aborted, "the connection is ended");
    request.destroy();
    return;
  }
  const session = connectHttp2(`http://127.0.0.1:${server.port}`);
  const stream = session.request({ ":path": PATH });
  stream.on("error", () => undefined);
  stream.pause();
  await poll(() => stream.closed, "the stream is ended");
  session.destroy();
});
