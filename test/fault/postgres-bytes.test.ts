import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresStorageProvider } from "../../src/storage/postgres/postgres-storage-provider.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";

/**
 * Messages with a frame as it must be, but for the first, whose contents are broken. On most of them the driver throws.
 */
const BROKEN: Readonly<Record<string, Buffer>> = {
  "another protocol": Buffer.from("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
  "zero bytes": Buffer.alloc(64),
  "an unknown message": message("~"),
  "a request for authentication without its kind": message("R"),
  "a description of fields that are not there": message("T", 0, 5),
  "a row that is too short": message("D", 0, 3, 0, 0, 0, 1),
  "a row for no statement": message("D", 0, 1, 0, 0, 0, 1, 65),
  "an end of a statement without its tag": message("C"),
};

const server = await startPostgresServer({ fast: true });
let broken: Buffer | undefined;

/** Passes connections on, and sends what is broken in the place of one answer. */
const proxy = createServer((client) => {
  const target = connect(Number(new URL(server!.url).port), new URL(server!.url).hostname);
  const end = () => {
    client.destroy();
    target.destroy();
  };
  client.on("error", end).on("close", end).pipe(target);
  target.on("error", end).on("close", end);
  target.on("data", (chunk: Buffer) => {
    client.write(broken ?? chunk);
    broken = undefined;
  });
});

describe.skipIf(!server)("a PostgreSQL server that breaks the protocol", () => {
  let provider: PostgresStorageProvider;
  let url: URL;

  beforeAll(async () => {
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    url = new URL(freshSchemaUrl(server!));
    url.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    url.searchParams.set("listen", "off");
    provider = await PostgresStorageProvider.open(url.href);
    await provider.createSession({ sessionId: "s" });
  });
  afterAll(async () => {
    await provider.close();
    await server?.stop();
    proxy.close();
  });

  it.each(Object.entries(BROKEN))("and sends %s is no harm to the next call", async (_what, bytes) => {
    broken = bytes;
    const code = expect.stringMatching(/^(unavailable|deadline_exceeded|internal)$/);
    // A call of a busy machine may end before it has an answer. Then the next one meets what is broken.
    for (let afterMs = 1000; broken !== undefined; afterMs *= 2) {
      const call = { deadlineMs: Date.now() + afterMs };
      // It may have been sent again on another connection.
      await provider.getSession("s", call).catch((error) => expect(error).toMatchObject({ code }));
    }
    expect(await provider.getSession("s")).toMatchObject({ sessionId: "s" });
  });

  it.each(Object.entries(BROKEN))("and sends %s at the start is refused", { timeout: 60_000 }, async (_what, bytes) => {
    broken = bytes;
    const code = expect.stringMatching(/^(unavailable|internal|failed_precondition)$/);
    for (let timeoutMs = 1000; broken !== undefined; timeoutMs *= 2) {
      await PostgresStorageProvider.open(url.href, { timeoutMs }).then(
        (opened) => opened.close(),
        (error) => expect(error).toMatchObject({ code }),
      );
    }
  });
});

/** A message of a server: its kind, its length, and its bytes. */
function message(kind: string, ...bytes: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from(kind), Buffer.of(0, 0, 0, 4 + bytes.length), Buffer.from(bytes)]);
}
