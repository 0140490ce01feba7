import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importSessions } from "../../src/commands/transfer/import-sessions.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer } from "../support/server.js";
import { run } from "../support/toolchain.js";
import { type Answer, jsonLines } from "./console-page.js";

export interface DemoServer {
  readonly httpUrl: string;
  readonly storage: string;
  /** The lines of the file that was imported. */
  readonly lines: readonly Answer[];
  stop(): Promise<void>;
}

/** Serves what docs/console.md says to import: the demo store, on SQLite. */
export async function startDemoServer(): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-demo-"));
  const file = join(folder, "demo.jsonl");
  const demo = await run(process.execPath, ["scripts/demo-store.mjs"]);
  await writeFile(file, demo);
  const storage = `sqlite:${join(folder, "demo.db")}`;
  await importSessions({ storage, namespace: "default" }, file);
  const server = await startTestServer({ storage }, undefined, await builtPages());
  return {
    httpUrl: server.httpUrl,
    storage,
    lines: jsonLines(demo),
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
