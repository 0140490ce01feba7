import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GetAttachmentResponseSchema } from "../../../../gen/sessionpool/v1/attachment_service_pb.js";
import { poll } from "../../../support/poll.js";
import { RestServer } from "./rest-server.js";

const PIECE = new Uint8Array(256 * 1024);
const PATH = "/session/s/attachment/a";
const TEN_PIECES = BigInt(10 * PIECE.length);

describe.each([1, 2])("a download over HTTP/%i", (version) => {
  let server: RestServer;
  let sent: number;
  let isClosed: boolean;

  beforeEach(async () => {
    server = await RestServer.start({ limits: { stalledMs: 100 }, http2: version === 2 });
    sent = 0;
    isClosed = false;
  });
  afterEach(() => server.stop());

  /** Answers with so many pieces of an attachment of this size, and then fails or goes on for ever. */
  function answer(size: bigint, pieces: number, fails: boolean): void {
    server.pipeline.events = async function* () {
      try {
        for (; sent < pieces; sent++) {
          const attachment = sent === 0 ? { attachment: { size, sha256: "0", mediaType: "a/b" } } : {};
          yield create(GetAttachmentResponseSchema, { ...attachment, chunk: PIECE });
        }
        if (fails) throw new Error("The store is gone");
      } finally {
        isClosed = true;
      }
    };
  }

  it("that fails after its first byte is cut off, so that its client sees bytes missing", async () => {
    answer(TEN_PIECES, 2, true);
    if (version === 1) {
      const [response] = (await once(get({ port: server.port, path: PATH, agent: false }), "response")) as [
        IncomingMessage,
      ];
      expect([response.statusCode, response.headers["content-length"]]).toEqual([200, String(TEN_PIECES)]);
      await expect(response.toArray()).rejects.toThrow(/aborted/);
    } else {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`);
      await expect(session.request({ ":path": PATH }).toArray()).rejects.toThrow(/NGHTTP2_INTERNAL_ERROR/);
      session.close();
    }
    expect(server.unexpected.map(String)).toEqual(["Error: The store is gone"]);
  });

  it("of which too few bytes come from the store is cut off, too", async () => {
    answer(TEN_PIECES, 3, false);
    const asked = version === 1 ? server.request("GET", PATH) : server.request2("GET", PATH);
    await expect(asked).rejects.toThrow(/aborted|NGHTTP2_INTERNAL_ERROR/);
  });

  it("that is not read ends, with little read ahead", async () => {
    answer(1n << 40n, Number.POSITIVE_INFINITY, false);
    if (version === 1) {
      const [response] = (await once(get({ port: server.port, path: PATH, agent: false }), "response")) as [
        IncomingMessage,
      ];
      response.on("error", () => {});
      await poll(() => isClosed, "the store is asked no more");
      response.destroy();
    } else {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`);
      const stream = session.request({ ":path": PATH });
      stream.on("error", () => {});
      stream.pause();
      await poll(() => isClosed, "the store is asked no more");
      session.destroy();
    }
    // What the operating system takes of a connection is some MiB.
    expect(sent * PIECE.length).toBeLessThan(24 * 1024 * 1024);
  });
});
