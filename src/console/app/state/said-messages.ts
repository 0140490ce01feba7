import { withoutPiles } from "../../../parts/piles.js";
import { viewsOf } from "../../../parts/recognise.js";
import { listMessages, listSessions, type SearchHit, type SessionQuery } from "../api/calls.js";
import type { Message, Session } from "../api/types.js";
import { summaryOf, toolNames } from "../parts/summary.js";
import { isGone } from "./toasts.js";

const PAGE = 100;
/** How much of a message is shown, as long as the snippets of a search. */
const SHOWN = 200;

export interface SaidFilter {
  /** Empty for all roles. */
  readonly role: string;
  /** Of the sessions; empty for those without one. */
  readonly owner?: string | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
}

export interface SaidPage {
  readonly hits: readonly SearchHit[];
  /** Empty when nothing follows. */
  readonly nextPageToken: string;
}

/**
 * Lists messages by their role, time and owner, because the service searches only for words: session by session, those
 * first that changed last, and in each the newest message first. Each page is one request.
 */
export class SaidMessages {
  readonly #filter: SaidFilter;
  /** Sessions that have been listed, without those whose messages have all been read. */
  #waiting: readonly Session[] = [];
  /** Continues the list of sessions; undefined at its end. */
  #moreSessions: string | undefined = "";
  /** Continues the messages of the first session that waits. */
  #moreMessages = "";
  /** The messages that forks share are shown once. */
  readonly #seen = new Set<string>();

  constructor(filter: SaidFilter) {
    this.#filter = filter;
  }

  async read(signal: AbortSignal): Promise<SaidPage> {
    const [session] = this.#waiting;
    const hits = session === undefined ? [] : await this.#readMessages(session, signal);
    if (session === undefined) await this.#readSessions(signal);
    const isOver = this.#waiting.length === 0 && this.#moreSessions === undefined;
    return { hits, nextPageToken: isOver ? "" : "more" };
  }

  async #readSessions(signal: AbortSignal): Promise<void> {
    const { owner, since } = this.#filter;
    // A session that changed after the time may have messages of it as well.
    const query: SessionQuery = { owner, updatedSince: since, limit: PAGE, pageToken: this.#moreSessions ?? "" };
    const page = await listSessions(query, signal);
    this.#waiting = page.sessions;
    this.#moreSessions = page.nextPageToken || undefined;
  }

  async #readMessages(session: Session, signal: AbortSignal): Promise<readonly SearchHit[]> {
    const { since, until } = this.#filter;
    const query = { since, until, newestFirst: true, limit: PAGE, pageToken: this.#moreMessages };
    const page = await listMessages(session.sessionId, query, signal).catch((error) => {
      // It was deleted after it had been listed.
      if (isGone(error)) return { messages: [], nextPageToken: "" };
      throw error;
    });
    this.#moreMessages = page.nextPageToken;
    if (page.nextPageToken === "") this.#waiting = this.#waiting.slice(1);
    const tools = toolNames(page.messages);
    return page.messages
      .filter((message) => this.#isAskedFor(message) && this.#isNew(session, message))
      .map((message) => hitOf(session, message, tools));
  }

  #isAskedFor(message: Message): boolean {
    const { role } = this.#filter;
    if (role === "") return true;
    // Some formats have what tools answered as messages of the user.
    const isAnswer = summaryOf(message).speaker === "tool";
    return role === "tool" ? isAnswer || message.info.role === role : message.info.role === role && !isAnswer;
  }

  #isNew({ sessionId }: Session, { info }: Message): boolean {
    const name = JSON.stringify([info.originSessionId || sessionId, info.id]);
    const isNew = !this.#seen.has(name);
    this.#seen.add(name);
    return isNew;
  }
}

function hitOf({ sessionId, title }: Session, message: Message, tools: ReadonlyMap<string, string>): SearchHit {
  const { id, timestamp, position = "0" } = message.info;
  const { speaker, text } = summaryOf(message, (callId) => tools.get(callId), SHOWN);
  return {
    ...{ sessionId, sessionTitle: title, messageId: id, role: speaker, timestamp, position },
    snippet: textOf(message) || text,
  };
}

/** The beginning of all that a message says. */
function textOf(message: Message): string {
  const texts = viewsOf(message).flatMap((view) => (view.kind === "text" ? view.text.trim() : []));
  const all = texts.filter(Boolean).join("\n");
  const shown = [...all.slice(0, 2 * SHOWN)].slice(0, SHOWN).join("");
  return withoutPiles(shown.length < all.length ? `${shown.trimEnd()}…` : shown);
}
