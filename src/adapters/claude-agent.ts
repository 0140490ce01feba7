// `session-pool/adapters/claude-agent`: a SessionStore of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`).
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ulid } from "ulid";
import { Code, type NewMessage, type SessionPoolClient, type StoredMessage } from "../client/index.js";
import { hasCode, unlessMissing } from "./missing.js";

/** Names a transcript, as the SDK does. */
export interface SessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** Absent for the main transcript. */
  readonly subpath?: string;
}

/** A line of a transcript: JSON that the SDK alone understands. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

type Session = Awaited<ReturnType<SessionPoolClient["sessions"]["getSession"]>>;

const ENTRY = "claude_entry";
const MOST_ENTRIES = 1000;
/** Below the 8 MiB of a batch, which also counts ids and roles. */
const MOST_BYTES = 7 * 1024 * 1024;
const MOST_ID_BYTES = 128;

/**
 * Keeps transcripts of the Claude Agent SDK: `query({ prompt, options: { sessionStore: new SessionPoolStore(client) } })`.
 *
 * Each transcript is a session and each entry a message, which holds the entry as JSON text, exactly. The `uuid` of an entry is the id
 * of its message, so that an entry which comes again is stored once. An entry of more than 3 MiB is refused, and its batch with it.
 */
export class SessionPoolStore {
  readonly #client: SessionPoolClient;

  constructor(client: SessionPoolClient) {
    this.#client = client;
  }

  /** Adds entries in their order. Those whose uuid the transcript has are left out. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const sessionId = await idOf(key);
    for (const batch of batchesOf(entries)) {
      try {
        await this.#append(key, sessionId, batch);
      } catch (error) {
        // One of them is there with other content: the SDK asks to ignore the later one.
        if (!hasCode(error, Code.AlreadyExists)) throw error;
        const added = await this.#missing(sessionId, batch);
        if (added.length > 0) await this.#append(key, sessionId, added);
      }
    }
  }

  /** All entries; null when none was ever written. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const sessionId = await idOf(key);
    const entries: SessionStoreEntry[] = [];
    await unlessMissing(async () => {
      for await (const message of this.#client.history(sessionId, { pageSize: MOST_ENTRIES }))
        entries.push(toEntry(message));
    });
    return entries.length === 0 ? null : entries;
  }

  /** The main transcripts of a project. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const sessions = await this.#children(await idOf({ projectKey }));
    return sessions.map((session) => ({
      sessionId: `${session.metadata?.sessionId}`,
      mtime: session.updateTime === undefined ? 0 : Math.floor(timestampMs(session.updateTime)),
    }));
  }

  /** Deletes a transcript; a main one with the transcripts of its subagents. */
  async delete(key: SessionKey): Promise<void> {
    const sessionId = await idOf(key);
    const subagents = key.subpath === undefined ? await this.#children(sessionId) : [];
    for (const id of [...subagents.map((session) => session.sessionId), sessionId])
      await unlessMissing(() => this.#client.sessions.deleteSession({ sessionId: id }));
  }

  /** The subpaths of a session's subagents. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const { projectKey, sessionId } = key;
    const sessions = await this.#children(await idOf({ projectKey, sessionId }));
    return sessions.map(({ metadata }) => `${metadata?.subpath}`);
  }

  /** Makes the transcript's session, and those that it is found by, when it is missing. */
  async #append(key: SessionKey, sessionId: string, messages: readonly NewMessage[]): Promise<void> {
    try {
      await this.#client.append(sessionId, messages);
    } catch (error) {
      if (!hasCode(error, Code.NotFound)) throw error;
      await this.#createSessions(key);
      await this.#client.append(sessionId, messages);
    }
  }

  /** A session for the project, one below it for the main transcript, and one below that for a subagent's. */
  async #createSessions({ projectKey, sessionId, subpath }: SessionKey): Promise<void> {
    const chain: Partial<SessionKey>[] = [{ projectKey }, { projectKey, sessionId }];
    if (subpath !== undefined) chain.push({ projectKey, sessionId, subpath });
    let parentId = "";
    for (const metadata of chain) {
      const id = await idOf(metadata);
      await this.#client.sessions.createSession({ sessionId: id, parentId, metadata: { ...metadata } });
      parentId = id;
    }
  }

  async #missing(sessionId: string, messages: readonly NewMessage[]): Promise<NewMessage[]> {
    const missing: NewMessage[] = [];
    for (const message of messages) {
      const messageId = message.info?.id ?? "";
      const known = await unlessMissing(() => this.#client.messages.getMessage({ sessionId, messageId }));
      if (known === undefined) missing.push(message);
    }
    return missing;
  }

  async #children(parentId: string): Promise<Session[]> {
    const sessions: Session[] = [];
    let pageToken = "";
    do {
      const page = await this.#client.sessions.listSessions({ parentId, pageToken, limit: 1000 });
      sessions.push(...page.sessions);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return sessions;
  }
}

/** `claude:project:session:subpath`, or a hash where that is longer than an id may be. */
async function idOf({ projectKey = "", sessionId, subpath }: Partial<SessionKey>): Promise<string> {
  const names = [projectKey, sessionId, subpath].filter((name) => name !== undefined);
  const id = ["claude", ...names.map(encodeURIComponent)].join(":");
  if (id.length <= MOST_ID_BYTES) return id;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(id));
  return `claude:${Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Messages in as few calls as the limits allow, each uuid once. */
function batchesOf(entries: readonly SessionStoreEntry[]): NewMessage[][] {
  const batches: NewMessage[][] = [];
  const seen = new Set<string>();
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const id = entry.uuid ?? ulid();
    if (seen.has(id)) continue;
    seen.add(id);
    const text = JSON.stringify(entry);
    const size = new TextEncoder().encode(text).length;
    const last = batches.at(-1);
    const isFull = last === undefined || last.length === MOST_ENTRIES || bytes + size > MOST_BYTES;
    const batch = isFull ? [] : last;
    if (isFull) batches.push(batch);
    bytes = isFull ? size : bytes + size;
    batch.push({ info: { id, role: entry.type }, parts: [{ type: ENTRY, text }] });
  }
  return batches;
}

function toEntry({ info, parts }: StoredMessage): SessionStoreEntry {
  const [part] = parts;
  if (part?.type !== ENTRY)
    throw new TypeError(`Message ${JSON.stringify(info?.id)} is no entry of the Claude Agent SDK`);
  return JSON.parse(part.text) as SessionStoreEntry;
}
