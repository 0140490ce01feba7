import type { Random } from "../../simulation/random.js";

/** A request of a user. */
export interface UserRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The field of the answer that holds a list, all pages of which are read. */
  readonly list?: "sessions" | "messages" | "hits" | "attachments";
  /** Names of the other user that the request holds, and the answer may therefore repeat. */
  readonly names: readonly string[];
}

/** How many sessions of each user there can be. */
export const SESSIONS = 6;
const MESSAGES = 24;
const ATTACHMENTS = 3;
const BEGIN_MS = Date.UTC(2020, 0, 1);

/** Chooses the requests of one user: on sessions of its own, on those of the other, and on some that do not exist. */
export class Requests {
  readonly #random: Random;
  readonly #own: string;
  readonly #other: string;
  #made = 0;

  /** `own` and `other` are words that everything of a user has in it, and that nobody can guess. */
  constructor(random: Random, own: string, other: string) {
    this.#random = random;
    this.#own = own;
    this.#other = other;
  }

  next(): UserRequest {
    const random = this.#random;
    const session = this.#session();
    const other = this.#session();
    const id = this.#message();
    const at = `/session/${session}`;
    // What a user gives itself holds nothing of the other.
    const message = {
      info: { id: `${this.#own}-m${random.int(MESSAGES)}`, role: "user", timestamp: this.#time() },
      parts: this.#parts(),
    };
    const own = `${this.#own}-s${random.int(SESSIONS)}`;
    const version = String(1 + random.int(3));
    const upload = { attachment_id: this.#attachment(), name: this.#own };
    const bytes = { of: this.#own, number: random.int(2) };
    const deltas = [{ appendText: { text: ` and ${this.#own}` } }];
    const ask = (
      method: UserRequest["method"],
      path: string,
      more: Partial<Pick<UserRequest, "query" | "body" | "list">> = {},
    ): UserRequest => {
      const sent = JSON.stringify([path, more.query, more.body]);
      // The longest come first, because the last is a part of the others.
      const named = [...sent.matchAll(/u[0-9a-f]{16}-a\d/g)].map(([name]) => name);
      const candidates = [session, other, id, ...named, this.#other].filter((name) => name.includes(this.#other));
      return { method, path, names: candidates.filter((name) => sent.includes(name)), ...more };
    };
    const all: readonly (readonly [weight: number, make: () => UserRequest])[] = [
      [
        8,
        () => ask("POST", "/session", { body: { sessionId: own, ...this.#fields(), parentId: this.#parent(other) } }),
      ],
      [14, () => ask("POST", `${at}/message`, { body: message })],
      [4, () => ask("POST", `/session/${own}/message:batch`, { body: { messages: [message], createSession: true } })],
      [4, () => ask("GET", at)],
      [4, () => ask("GET", `${at}/load`, { query: { limit: "3" } })],
      [4, () => ask("GET", `${at}/message`, { list: "messages", query: { limit: "3", includeAncestors: "true" } })],
      [3, () => ask("GET", `${at}/message`, { list: "messages", query: { limit: "2", newestFirst: "true" } })],
      [3, () => ask("GET", `${at}/message/${id}`)],
      [2, () => ask("GET", `${at}/message:count`)],
      [4, () => ask("GET", "/session", { list: "sessions", query: { limit: "3", view: "SESSION_VIEW_FULL" } })],
      [2, () => ask("GET", "/session", { list: "sessions", query: { limit: "2", label: "team=common" } })],
      [2, () => ask("GET", "/session", { list: "sessions", query: { parentId: session } })],
      [1, () => ask("GET", "/session", { list: "sessions", query: { noOwner: "true" } })],
      [1, () => ask("GET", "/session", { list: "sessions", query: { owner: this.#other } })],
      [4, () => ask("GET", "/search", { list: "hits", query: { limit: "3", q: "common" } })],
      [2, () => ask("GET", "/search", { list: "hits", query: { q: "common", label: "team=common" } })],
      [2, () => ask("GET", "/search", { list: "hits", query: { q: this.#other } })],
      [2, () => ask("GET", "/search", { list: "hits", query: { q: "common", sessionId: session } })],
      [3, () => ask("PATCH", at, { body: this.#fields() })],
      [1, () => ask("PATCH", at, { body: { owner: this.#other } })],
      [2, () => ask("DELETE", at)],
      [4, () => ask("POST", `${at}/fork`, { body: { newSessionId: own, ...this.#upTo() } })],
      [2, () => ask("POST", `${at}/share`, { body: { newSessionId: own } })],
      [4, () => ask("POST", `${at}/message:copy`, { body: { targetSessionId: other, ...this.#upTo() } })],
      [2, () => ask("POST", `${at}/revert`, { body: { upToMessageId: id } })],
      [2, () => ask("POST", `${at}/unrevert`, { body: {} })],
      [1, () => ask("POST", `${at}/message:truncate`, { body: { upToMessageId: id } })],
      [3, () => ask("PATCH", `${at}/message/${id}`, { body: { parts: this.#parts() } })],
      [2, () => ask("DELETE", `${at}/message/${id}`)],
      [5, () => ask("POST", `${at}/draft`, { body: { message } })],
      [5, () => ask("POST", `${at}/draft/${id}:extend`, { body: { version, deltas } })],
      [3, () => ask("POST", `${at}/draft/${id}:finish`, { body: { version } })],
      [2, () => ask("DELETE", `${at}/draft/${id}`)],
      [2, () => ask("GET", `${at}/draft`)],
      [1, () => ask("POST", `${at}/ticket`, { body: { scope: "write" } })],
      [1, () => ask("POST", `${at}/ticket:revoke`, { body: {} })],
      [5, () => ask("POST", `${at}/attachment`, { query: upload, body: bytes })],
      [
        1,
        () => ask("POST", `/session/${own}/attachment`, { query: { ...upload, create_session: "true" }, body: bytes }),
      ],
      [4, () => ask("GET", `${at}/attachment/${this.#attachment()}`)],
      [3, () => ask("GET", `${at}/attachment`, { list: "attachments", query: { limit: "2" } })],
      [2, () => ask("DELETE", `${at}/attachment/${this.#attachment()}`)],
      [1, () => ask("GET", "/all/todo")],
      [2, () => ask("GET", `/v1/conversations/${session}`)],
      [2, () => ask("GET", `/v1/conversations/${session}/items`)],
      [1, () => ask("GET", `/v1/conversations/${session}/items/${id}`)],
    ];
    let left = random.int(all.reduce((sum, [weight]) => sum + weight, 0));
    const chosen = all.find(([weight]) => {
      left -= weight;
      return left < 0;
    });
    return (chosen as (typeof all)[number])[1]();
  }

  /** Mostly a session of the user's own. */
  #session(): string {
    const i = this.#random.int(SESSIONS);
    if (this.#random.chance(0.7)) return `${this.#own}-s${i}`;
    return this.#random.chance(0.8) ? `${this.#other}-s${i}` : `nothing-s${i}`;
  }

  #message(): string {
    const whose = this.#random.chance(0.85) ? this.#own : this.#other;
    return `${whose}-m${this.#random.int(MESSAGES)}`;
  }

  /** Texts hold a word of all users, and a number, so that content differs. */
  #parts(): object[] {
    const attachment = { attachmentId: this.#attachment() };
    const text = `common ${this.#own} ${this.#made++}`;
    return [{ id: "p", type: "text", text, ...(this.#random.chance(0.2) && { attachment }) }];
  }

  #attachment(): string {
    const whose = this.#random.chance(0.85) ? this.#own : this.#other;
    return `${whose}-a${this.#random.int(ATTACHMENTS)}`;
  }

  #fields(): object {
    const title = `${this.#own} ${this.#random.int(3)}`;
    return { title, labels: { team: "common", of: this.#own }, metadata: { of: this.#own } };
  }

  #parent(other: string): string {
    return this.#random.chance(0.4) ? other : "";
  }

  #upTo(): object {
    return this.#random.chance(0.4) ? { upToMessageId: this.#message() } : {};
  }

  /** Always later than before, but sometimes by far earlier. The clocks of servers decide nothing. */
  #time(): string {
    const ms = this.#random.chance(0.15) ? this.#random.int(1_000_000) : 2_000_000 + ++this.#made;
    return new Date(BEGIN_MS + ms).toISOString();
  }
}
