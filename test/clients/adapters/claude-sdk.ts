import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SessionPoolStore, SessionStoreEntry } from "../../../clients/typescript/src/adapters/claude-agent.js";
import { cached, install } from "../../support/toolchain.js";

export const CLAUDE_SDK_MAIN = "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs";
/** The id of the transcript with usages. */
export const SPENT = "7f3c1c34-53d1-4f6e-9a57-0f5d4d1f2a11";
export const SESSION = "7f3c1c34-53d1-4f6e-9a57-0f5d4d1f2a10";

const CLAUDE_SDK = "@anthropic-ai/claude-agent-sdk@0.3.332";

interface Options {
  readonly dir?: string;
  readonly sessionStore?: SessionPoolStore;
  readonly batchSize?: number;
}

/** The functions of the Claude Agent SDK that the tests call. */
export interface ClaudeSdk {
  importSessionToStore(sessionId: string, store: SessionPoolStore, options?: Options): Promise<void>;
  getSessionMessages(sessionId: string, options?: Options): Promise<{ type: string; uuid: string; message: unknown }[]>;
  listSessions(options?: Options): Promise<{ sessionId: string; summary: string; customTitle?: string }[]>;
  listSubagents(sessionId: string, options?: Options): Promise<string[]>;
  forkSession(sessionId: string, options?: Options): Promise<{ sessionId: string }>;
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
 * Returns a transcript of two responses: one in three entries, whose number of tokens is whole only in the last, and
 * one in an entry of its own.
 */
export function transcriptWithUsage(cwd: string): SessionStoreEntry[] {
  const answer = (id: string, output: number, text: string) => ({
    ...{ id, type: "message", role: "assistant", model: "claude-opus-4", content: [{ type: "text", text }] },
    usage: { input_tokens: 3, cache_creation_input_tokens: 7, cache_read_input_tokens: 90, output_tokens: output },
  });
  const error = { ...answer("msg_3", 0, "API Error"), model: "<synthetic>" };
  const messages = [
    ["user", { role: "user", content: "When do the azaleas bloom?" }],
    ["assistant", answer("msg_1", 1, "Let me see.")],
    ["assistant", answer("msg_1", 1, "Late April")],
    ["assistant", answer("msg_1", 25, "to May.")],
    ["assistant", answer("msg_2", 8, "In Kyoto.")],
    ["assistant", error],
  ] as const;
  return messages.map(([type, message], i) => ({
    ...{ type, uuid: uuid(101 + i), parentUuid: i === 0 ? null : uuid(100 + i), sessionId: SPENT, cwd, message },
    ...{ timestamp: `2026-05-01T10:00:0${i}.000Z`, isSidechain: false, userType: "external", version: "2.1.0" },
  }));
}

/**
 * Writes that transcript and one of a subagent to the files in which the program keeps the transcripts of a project.
 */
export function writeTranscripts(config: string, cwd: string): void {
  const project = join(config, "projects", cwd.replace(/[^a-zA-Z0-9]/g, "-"));
  mkdirSync(join(project, SESSION, "subagents"), { recursive: true });
  const lines = (entries: readonly unknown[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  writeFileSync(join(project, `${SESSION}.jsonl`), lines(transcript(cwd)));
  writeFileSync(join(project, `${SPENT}.jsonl`), lines(transcriptWithUsage(cwd)));
  const agent = transcript(cwd).map((entry) => ({ ...entry, isSidechain: true, agentId: "a1" }));
  writeFileSync(join(project, SESSION, "subagents/agent-a1.jsonl"), lines(agent));
}
