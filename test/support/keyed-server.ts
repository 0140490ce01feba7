import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServeConfig } from "../../src/config/config.js";
import type { Page } from "../../src/console/pages.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { startTestServer, type TestServer } from "./server.js";

export interface KeyedServer extends TestServer {
  /** The only key that opens the server. */
  readonly key: string;
}

/** Starts a server in this process with one key of this scope. Its keys file is removed when the server stops. */
export async function startKeyedServer(
  scope: "read" | "write" | "admin",
  config: Partial<ServeConfig> = {},
  pages?: readonly Page[],
): Promise<KeyedServer> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-keys-"));
  const keysFile = join(folder, "keys.json");
  const key = newKey();
  const entry = { name: "k", hash: hashRandomKey(key), namespace: "default", scope };
  await writeFile(keysFile, JSON.stringify([entry]), { mode: 0o600 });
  const server = await startTestServer({ ...config, keysFile }, undefined, pages);
  return {
    ...server,
    key,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
