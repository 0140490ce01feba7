import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Connections } from "../../../../src/server/limits/connections.js";
import { HALF_OPEN_MS, TcpPort } from "../../../../src/server/limits/tcp-port.js";
import { TlsFiles } from "../../../../src/server/tls-files.js";
import { makeCertificate } from "../../../support/certificate.js";
import { TestLogger } from "../../../support/test-logger.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "session-pool-port-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

it.each(["TCP", "TLS"])("closes a connection over %s that its client leaves half open", async (protocol) => {
  const tls = protocol === "TLS" ? await makeTls() : undefined;
  const connections = new Connections(10);
  let finished: Promise<unknown> | undefined;
  let closed: Promise<unknown> | undefined;
  const port = new TcpPort({
    name: "test",
    address: { host: "127.0.0.1", port: 0 },
    connections,
    tls,
    protocols: [],
    onSocket: (socket: Socket) => {
      finished = once(socket, "finish");
      closed = once(socket, "close");
      socket.end("The end");
    },
  });
  const options = { host: "127.0.0.1", port: await port.listen(), allowHalfOpen: true };
  const client = tls === undefined ? connectTcp(options) : connectTls({ ...options, rejectUnauthorized: false });
  client.on("error", () => undefined).resume();
  await once(client, "end");
  await finished;

  vi.advanceTimersByTime(HALF_OPEN_MS - 1);
  expect(connections.size).toBe(1);
  vi.advanceTimersByTime(1);
  await closed;
  expect(connections.size).toBe(0);
  client.destroy();
  await port.close();
  tls?.close();
});

async function makeTls(): Promise<TlsFiles> {
  const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
  await makeCertificate(paths);
  return new TlsFiles(paths, new TestLogger().pino);
}
