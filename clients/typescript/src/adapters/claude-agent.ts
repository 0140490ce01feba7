// `session-pool-client/adapters/claude-agent`: a SessionStore of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`).
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { SessionView } from "../../../../gen/sessionpool/v1/session_service_pb.js";
import { Code, type NewMessage, type SessionPoolClient, type StoredMessage } from "../index.js";
import { hexOf } from "./attached.js";
import { batchesOf } from "./batches.js";
import { fittedEntry, KEPT, type SessionStoreEntry, toEntries, toMessage } from "./claude-entries.js";
import { ResponseUsages } from "./claude-usage.js";
import { keep } from "./keep.js";
import { hasCode, unlessMissing } from "./missing.js";
import { restored } from "./restored.js";
import { withUsage } from "./usage.js";

export type { SessionStoreEntry } from "./claude-entries.js";

/** Identifies a transcript, as in the SDK. */
export interface SessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** Absent for the main transcript. */
  readonly subpath?: string;
}

type ProjectKey = Pick<SessionKey, "projectKey">;
type Session = Awaited<ReturnType<SessionPoolClient["sessions"]["getSession"]>>;

const MOST_ENTRIES = 1000;

/**
 * Keeps transcripts of the Claude Agent SDK. Use it as
 * `query({ prompt, options: { sessionStore: new SessionPoolStore(client) } })`.
 *
 * Each transcript is a session, and each entry is a message that holds the exact entry as JSON text and, for people who
 * read or search, what the user or the assistant said. The `uuid` of an entry is the id of its message, so that an
 * entry that comes again is stored once. Large texts, images and documents are kept in attachments. The first entry of
 * each response of the model has its usage; copies of entries, which forks begin with, have none.
 *
 * A transcript that was deleted after this store has read or written it is not made again: to append to it fails with
 * `not_found`.
 */
export class SessionPoolStore {
  readonly #client: SessionPoolClient;
  /** The ids of the sessions that are not made again. */
  readonly #seen = new Set<string>();
  readonly #usages = new ResponseUsages();

  constructor(client: SessionPoolClient) {
    this.#client = client;
  }

  /** Adds entries in order. Entries whose uuid the transcript already has are left out. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const sessionId = await idOf(key);
    const { messages, grown, noteAll } = this.#usages.plan(sessionId, await toMessages(entries));
    for (const batch of batchesOf(await this.#keep(key, sessionId, messages))) {
      try {
        await this.#append(key, sessionId, batch);
      } catch (error) {
        // One of them exists with other content, and the earlier one stays; the others are added one by one.
        if (!hasCode(error, Code.AlreadyExists)) throw error;
        for (const message of batch) await this.#appendUnlessKnown(sessionId, message);
      }
      this.#seen.add(sessionId);
    }
    for (const { messageId, usage } of grown) {
      const message = withUsage({}, usage);
      const request = { sessionId, messageId, message, updateMask: { paths: ["info.usage"] } };
      try {
        await this.#client.messages.updateMessage(request);
      } catch (error) {
        // It was removed, or the server is of an earlier version, which knows no usage.
        if (!hasCode(error, Code.NotFound) && !hasCode(error, Code.InvalidArgument)) throw error;
      }
    }
    noteAll();
  }

  /** All entries; null when none was ever written. In place of an erased message stands an entry that says so. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const sessionId = await idOf(key);
    const messages: StoredMessage[] = [];
    await unlessMissing(async () => {
      for await (const message of this.#client.history(sessionId, { pageSize: MOST_ENTRIES })) messages.push(message);
    });
    if (messages.length === 0) return null;
    this.#seen.add(sessionId);
    return toEntries(await restored(this.#client, sessionId, messages));
  }

  /** The main transcripts of a project. One of which only subagents' transcripts were written is not among them. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const sessions = await this.#transcripts(await idOf({ projectKey }), SessionView.FULL);
    const written = sessions.filter(({ messageCount }) => (messageCount ?? 0) > 0);
    return written.flatMap((session) => {
      const sessionId = keptOf(session).session_id;
      const mtime = session.updateTime === undefined ? 0 : Math.floor(timestampMs(session.updateTime));
      return sessionId === undefined ? [] : [{ sessionId, mtime }];
    });
  }

  /** Deletes a transcript; a main transcript together with those of its subagents. */
  async delete(key: SessionKey): Promise<void> {
    const sessionId = await idOf(key);
    const subagents = key.subpath === undefined ? await this.#transcripts(sessionId) : [];
    for (const id of [...subagents.map((session) => session.sessionId), sessionId])
      await unlessMissing(() => this.#client.sessions.deleteSession({ sessionId: id }));
  }

  /** The subpaths of a session's subagents. */
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const { projectKey, sessionId } = key;
    const sessions = await this.#transcripts(await idOf({ projectKey, sessionId }));
    return sessions.flatMap((session) => keptOf(session).subpath ?? []);
  }

  /** Uploads what is too large for a message. Makes the transcript's session for that if it is missing. */
  async #keep(key: SessionKey, sessionId: string, messages: readonly NewMessage[]): Promise<NewMessage[]> {
    const keepAll = async (throwsNotFound: boolean) => {
      const kept: NewMessage[] = [];
      const options = { jsonTextType: KEPT, fit: fittedEntry, throwsNotFound };
      for (const message of messages) kept.push(await keep(this.#client, sessionId, message, options));
      return kept;
    };
    if (this.#seen.has(sessionId)) return await keepAll(false);
    try {
      return await keepAll(true);
    } catch (error) {
      if (!hasCode(error, Code.NotFound)) throw error;
      await this.#createSessions(key);
      return await keepAll(false);
    }
  }

  /** Makes the transcript's session, and those above it, if they are missing. */
  async #append(key: SessionKey, sessionId: string, messages: readonly NewMessage[]): Promise<void> {
    try {
      await this.#client.append(sessionId, messages);
    } catch (error) {
      if (!hasCode(error, Code.NotFound) || this.#seen.has(sessionId)) throw error;
      await this.#createSessions(key);
      await this.#client.append(sessionId, messages);
    }
  }

  async #appendUnlessKnown(sessionId: string, message: NewMessage): Promise<void> {
    try {
      await this.#client.append(sessionId, message);
    } catch (error) {
      if (!hasCode(error, Code.AlreadyExists)) throw error;
    }
  }

  /**
   * Makes the missing ones of these sessions: one for the project, its child for the main transcript, and that one's
   * child for the transcript of a subagent. `not_found`: the main transcript was deleted after this store has seen it.
   */
  async #createSessions({ projectKey, sessionId, subpath }: SessionKey): Promise<void> {
    const main = await idOf({ projectKey, sessionId });
    if (!this.#seen.has(main)) {
      const project = await idOf({ projectKey });
      await this.#create(project, "", { project_key: projectKey });
      await this.#create(main, project, { project_key: projectKey, session_id: sessionId });
      this.#seen.add(main);
    }
    if (subpath === undefined) return;
    const fields = { project_key: projectKey, session_id: sessionId, subpath };
    await this.#create(await idOf({ projectKey, sessionId, subpath }), main, fields);
  }

  async #create(sessionId: string, parentId: string, fields: JsonObject): Promise<void> {
    await this.#client.sessions.createSession({ sessionId, parentId, metadata: { [KEPT]: fields } });
  }

  /** The transcripts below a session, without its forks and what else others have put there. */
  async #transcripts(parentId: string, view = SessionView.BASIC): Promise<Session[]> {
    const sessions: Session[] = [];
    let pageToken = "";
    do {
      const page = await this.#client.sessions.listSessions({ parentId, view, pageToken, limit: 1000 });
      sessions.push(...page.sessions.filter((session) => session.sessionId.startsWith(`${parentId}-`)));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return sessions;
  }
}

/** The session id of a key. The parts are hashed, because they may be longer than ids and hold any character. */
async function idOf({ projectKey, sessionId, subpath }: ProjectKey & Partial<SessionKey>): Promise<string> {
  const names = [projectKey, sessionId, subpath].filter((name) => name !== undefined);
  return ["claude", ...(await Promise.all(names.map(shortHash)))].join("-");
}

async function shortHash(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return hexOf(new Uint8Array(hash, 0, 12));
}

/** The fields of a transcript's key that are kept in the metadata of its session. */
function keptOf({ metadata }: Session): { readonly session_id?: string; readonly subpath?: string } {
  return (metadata?.[KEPT] ?? {}) as { session_id?: string; subpath?: string };
}

/** The messages of entries, each uuid once. */
async function toMessages(
  entries: readonly SessionStoreEntry[],
): Promise<{ readonly entry: SessionStoreEntry; readonly message: NewMessage }[]> {
  const messages = new Map<string, { readonly entry: SessionStoreEntry; readonly message: NewMessage }>();
  for (const entry of entries) {
    const message = await toMessage(entry);
    const id = message.info?.id ?? "";
    if (!messages.has(id)) messages.set(id, { entry, message });
  }
  return [...messages.values()];
}
