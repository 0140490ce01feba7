import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SessionPoolStore, SessionStoreEntry } from "../../../clients/typescript/src/adapters/claude-agent.js";
import { cached, install } from "../../support/toolchain.js";

export const CLAUDE_SDK_MAIN = "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs";
export const SESSION = "7f3c1c34-53d1-4f6e-9a57-0f5d4d1f2a10";

const CLAUDE_SDK = "@anthropic-ai/claude-agent-sdk@0.3.332";

interface Options {
  readonly dir?: string;
  readonly sessionStore?: SessionPoolStore;
}

/** The functions of the Claude Agent SDK that the tests call. */
export interface ClaudeSdk {
  importSessionToStore(sessionId: string, store: SessionPoolStore, options?: Options): Promise<void>;
  getSessionMessages(sessionId: string, options?: Options): Promise<{ type: string; uuid: string; message: unknown }[]>;
  listSessions(options?: Options): Promise<{ sessionId: string; summary: string; customTitle?: string }[]>;
  listSubagents(sessionId: string, options?: Options): Promise<string[]>;
  renameSession(sessionId: string, title: string, options?: Options): Promise<void>;
  deleteSession(sessionId: string, options?: Options): Promise<void>;
}

/**
 * Installs the real package without its command-line program of 370 MB, which these functions do not need. Resolves to
 * the folder.
 */
export function installClaudeSdk(): Promise<string> {
  return cached("claude-agent-sdk", [CLAUDE_SDK], (folder) =>
    install("npm", [
      ...[
        "install",
        "--prefix",
        folder,
        "--omit=optional",
        "--legacy-peer-deps",
        "--no-audit",
        "--no-fund",
        "--silent",
      ],
      CLAUDE_SDK,
    ]),
  );
}

export async function loadClaudeSdk(folder: string): Promise<ClaudeSdk> {
  return (await import(pathToFileURL(join(folder, CLAUDE_SDK_MAIN)).href)) as ClaudeSdk;
}

export const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Returns a transcript as the command-line program writes it. */
export function transcript(cwd: string): SessionStoreEntry[] {
  const entry = (n: number, type: string, message: unknown) => ({
    ...{ type, uuid: uuid(n), parentUuid: n === 1 ? null : uuid(n - 1), sessionId: SESSION, cwd, message },
    ...{ timestamp: `2026-05-01T10:00:0${n}.000Z`, isSidechain: false, userType: "external", version: "2.1.0" },
  });
  const input = { query: "azalea", deep: JSON.parse(`${"[".repeat(40)}${"]".repeat(40)}`) };
  return [
    entry(1, "user", { role: "user", content: "Wann blühen die Azaleen in 京都?" }),
    entry(2, "assistant", { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "search", input }] }),
    entry(3, "user", { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "4" }] }),
    entry(4, "assistant", { role: "assistant", content: [{ type: "text", text: "Late April. 👩‍🌾" }] }),
  ];
}

/**
 * Writes that transcript and one of a subagent to the files in which the program keeps the transcripts of a project.
 */
export function writeTranscripts(config: string, cwd: string): void {
  const project = join(config, "projects", cwd.replace(/[^a-zA-Z0-9]/g, "-"));
  mkdirSync(join(project, SESSION, "subagents"), { recursive: true });
  const lines = (entries: readonly unknown[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  writeFileSync(join(project, `${SESSION}.jsonl`), lines(transcript(cwd)));
  const agent = transcript(cwd).map((entry) => ({ ...entry, isSidechain: true, agentId: "a1" }));
  writeFileSync(join(project, SESSION, "subagents/agent-a1.jsonl"), lines(agent));
}
