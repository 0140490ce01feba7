import type { Random } from "../simulation/random.js";
import type { Final, Seen } from "./chaos-checker.js";
import { bodyOf, type Fleet, type Reply } from "./chaos-fleet.js";

const MOST_SESSIONS = 80;
const PAGE = 1000;

/** What the clients share that work on sessions that are only appended to. */
export interface Shared {
  readonly fleet: Fleet;
  readonly sessions: string[];
  readonly history: Seen[];
}

/** Works on sessions that others work on at the same time, and records the results of its calls. */
export class ChaosClient {
  readonly #name: string;
  readonly #shared: Shared;
  readonly #random: Random;
  #number = 0;

  constructor(name: string, shared: Shared, random: Random) {
    this.#name = name;
    this.#shared = shared;
    this.#random = random;
  }

  async work(isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.#step();
  }

  async #step(): Promise<void> {
    const session = this.#random.pick(this.#shared.sessions);
    const dice = this.#random.int(100);
    if (dice < 45) await this.#append(session, 1, true);
    else if (dice < 60) await this.#append(session, 2 + this.#random.int(9), true);
    else if (dice < 66) await this.#append(session, 1 + this.#random.int(4), false);
    else if (dice < 82) await this.#list(session);
    else if (dice < 96 || this.#shared.sessions.length >= MOST_SESSIONS) await this.#count(session);
    else await this.#fork(session);
  }

  /** Appends messages. `persists`: whether the call is repeated, also to other processes, until it is answered. */
  async #append(session: string, count: number, persists: boolean): Promise<void> {
    const ids = Array.from({ length: count }, () => `${this.#name}-${++this.#number}`);
    const messages = ids.map(messageOf);
    const calledAt = performance.now();
    const path = `/session/${session}/message${count > 1 ? ":batch" : ""}`;
    const reply = await this.#ask(persists, "POST", path, count > 1 ? { messages } : messages[0]);
    const answeredAt = reply.kind === "unknown" ? Number.POSITIVE_INFINITY : performance.now();
    const position = reply.kind === "unknown" ? -1 : Number(bodyOf(reply, `append to ${session}`).position ?? 0);
    this.#shared.history.push({ kind: "append", session, ids, position, calledAt, answeredAt });
  }

  async #list(session: string): Promise<void> {
    const offset = this.#random.chance(0.5) ? 0 : this.#random.int(60);
    const limit = this.#random.pick([5, 50, PAGE]);
    const calledAt = performance.now();
    const reply = await this.#ask(false, "GET", `/session/${session}/message?offset=${offset}&limit=${limit}`);
    if (reply.kind === "unknown") return;
    const ids = idsOf(bodyOf(reply, `list of ${session}`));
    this.#shared.history.push({ kind: "list", session, offset, limit, ids, calledAt, answeredAt: performance.now() });
  }

  async #count(session: string): Promise<void> {
    const calledAt = performance.now();
    const reply = await this.#ask(false, "GET", `/session/${session}/message:count`);
    if (reply.kind === "unknown") return;
    const count = Number(bodyOf(reply, `count of ${session}`).count ?? 0);
    this.#shared.history.push({ kind: "count", session, count, calledAt, answeredAt: performance.now() });
  }

  /** Forks a session, and repeats the call until it is answered. The fork is then one more session to work on. */
  async #fork(session: string): Promise<void> {
    const target = `${this.#name}-fork-${++this.#number}`;
    const calledAt = performance.now();
    const reply = await this.#ask(true, "POST", `/session/${session}/fork`, { newSessionId: target });
    const body = bodyOf(reply, `fork of ${session}`);
    const answeredAt = performance.now();
    const forkPoint = (body.forkPointId as string) || null;
    const copied = Number(body.copiedCount ?? 0);
    this.#shared.history.push({ kind: "fork", session, target, forkPoint, copied, calledAt, answeredAt });
    this.#shared.sessions.push(target);
  }

  async #ask(persists: boolean, method: string, path: string, body?: unknown): Promise<Reply> {
    const { fleet } = this.#shared;
    const index = this.#random.int(fleet.size);
    return persists ? (await fleet.settle(index, method, path, body)).reply : fleet.send(index, method, path, body);
  }
}

/** Reads all messages and the count of a session from one process. */
export async function readFinal(fleet: Fleet, index: number, session: string): Promise<Final> {
  const ids: string[] = [];
  for (let token = ""; ; ) {
    const query = token ? `page_token=${encodeURIComponent(token)}` : "offset=0";
    const path = `/session/${session}/message?limit=${PAGE}&${query}`;
    const body = bodyOf((await fleet.settle(index, "GET", path)).reply, path);
    ids.push(...idsOf(body));
    token = (body.nextPageToken as string) ?? "";
    if (!token) break;
  }
  const { reply } = await fleet.settle(index, "GET", `/session/${session}/message:count`);
  return { ids, count: Number(bodyOf(reply, "count").count ?? 0) };
}

export function messageOf(id: string): object {
  return { info: { id, role: "user" }, parts: [{ type: "text", text: `text of ${id}` }] };
}

function idsOf(body: Record<string, unknown>): string[] {
  return ((body.messages ?? []) as { info: { id: string } }[]).map(({ info }) => info.id);
}
