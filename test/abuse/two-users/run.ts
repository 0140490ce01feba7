import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/config.js";
import { hashRandomKey, newKey } from "../../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../../src/server/auth/ticket-secrets.js";
import { seededRandom } from "../../simulation/random.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { type Answer, checkSilent, comparable } from "./answers.js";
import { Requests, SESSIONS, type UserRequest } from "./requests.js";

export interface TwoUsersReport {
  readonly requests: number;
  /** How many of them concerned something of the other user. */
  readonly onOthers: number;
  readonly watched: number;
}

interface User {
  /** Everything of this user has it in it: its owner's name, ids, titles, labels and texts. */
  readonly word: string;
  readonly key: string;
}

/**
 * Two users send random requests to one server. Each sends the same to a server of its own, where the other does not
 * exist: all answers must be the same, in their headers too, and none may tell anything of the other.
 */
export async function runTwoUsers(storage: string, until: () => boolean, seed: number): Promise<TwoUsersReport> {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-users-"));
  const [a, b] = [newUser(), newUser()];
  const keysFile = join(folder, "keys.json");
  const ticketSecretFile = join(folder, "secret");
  const entries = [a, b].map(({ word, key }) => {
    return { name: word, hash: hashRandomKey(key), namespace: "default", scope: "write", owner: word };
  });
  writeFileSync(keysFile, JSON.stringify(entries));
  writeFileSync(ticketSecretFile, newTicketSecret());
  // A call that is cut off on one server only would leave the two in different states.
  const serverLimits = { ...DEFAULT_SERVER_LIMITS, unaryDeadlineMs: 600_000 };
  const config = { keysFile, ticketSecretFile, openAi: true, search: true, hidesTodos: true, serverLimits };
  const servers: TestServer[] = [];
  const start = async (store: string) => {
    const server = await startTestServer({ ...config, storage: store });
    servers.push(server);
    return server.httpUrl;
  };
  try {
    const shared = await start(storage);
    const runs = [
      new UserRun(a, b, { shared, alone: await start("memory:") }, seed),
      new UserRun(b, a, { shared, alone: await start("memory:") }, seed + 1),
    ];
    await Promise.all(runs.map((run) => run.run(() => until() || runs.some(({ hasFailed }) => hasFailed))));
    return {
      requests: runs.reduce((sum, { requests }) => sum + requests, 0),
      onOthers: runs.reduce((sum, { onOthers }) => sum + onOthers, 0),
      watched: runs.reduce((sum, { watched }) => sum + watched, 0),
    };
  } finally {
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true });
  }
}

function newUser(): User {
  return { word: `u${randomBytes(8).toString("hex")}`, key: newKey() };
}

/** How often a list of sessions is read until it is the same, and how long to wait in between. */
const LIST_READS = 5;
const SETTLE_MS = 1000;
/** How many requests are made between two new watches. */
const WATCH_EVERY = 50;

/** One of the users. */
class UserRun {
  requests = 0;
  onOthers = 0;
  watched = 0;
  hasFailed = false;
  readonly #user: User;
  readonly #other: User;
  readonly #urls: { readonly shared: string; readonly alone: string };
  readonly #requests: Requests;
  #nextWatched = 0;
  #watch: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(user: User, other: User, urls: { readonly shared: string; readonly alone: string }, seed: number) {
    this.#user = user;
    this.#other = other;
    this.#urls = urls;
    this.#requests = new Requests(seededRandom(seed), user.word, other.word);
  }

  async run(isOver: () => boolean): Promise<void> {
    try {
      while (!isOver()) {
        if (this.requests % WATCH_EVERY === 0) await this.#watchAnew();
        await this.#step();
      }
    } catch (error) {
      this.hasFailed = true;
      throw error;
    } finally {
      await this.#endWatch();
    }
  }

  async #step(): Promise<void> {
    const request = this.#requests.next();
    this.requests++;
    if (request.names.length > 0) this.onOthers++;
    // A store may write the times of changed sessions a second later; until then they change places from page to page.
    for (let left = request.list === "sessions" ? LIST_READS : 1; ; await setTimeout(SETTLE_MS)) {
      const [shared, alone] = await Promise.all([
        this.#answersOf(this.#urls.shared, request),
        this.#answersOf(this.#urls.alone, request),
      ]);
      for (const answer of shared) checkSilent(answer, this.#other.word, request.names);
      const [seen, expected] = [shapeOf(shared, request), shapeOf(alone, request)];
      if (isDeepStrictEqual(seen, expected)) return;
      if (--left > 0) continue;
      const told = JSON.stringify({ request, seen, expected }, null, 1);
      throw new Error(`The answer is another one than without the other user: ${told}`);
    }
  }

  /** The answer; for a list, those of all pages. */
  async #answersOf(url: string, request: UserRequest): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (let pageToken = ""; ; ) {
      const query = new URLSearchParams({ ...request.query, ...(pageToken !== "" && { pageToken }) });
      const answer = await this.#send(`${url}${request.path}?${query}`, request);
      answers.push(answer);
      pageToken = request.list && answer.status === 200 ? JSON.parse(answer.text).nextPageToken : "";
      if (!pageToken) return answers;
    }
  }

  async #send(url: string, { method, body }: UserRequest): Promise<Answer> {
    // A server may close an idle connection at the moment at which a request arrives, which must not be repeated.
    const authorization = `Bearer ${this.#user.key}`;
    const headers = {
      ...{ authorization, "content-type": "application/json", connection: "close" },
      // Whether an answer is long enough to be compressed depends on its tokens, which are longer on some stores.
      "accept-encoding": "identity",
    };
    const answer = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /** Watches the next of the user's own sessions that is there, and in vain the other's. */
  async #watchAnew(): Promise<void> {
    await this.#endWatch();
    for (let tried = 0; tried < SESSIONS && this.#watch === undefined; tried++)
      await this.#tryToWatch(this.#nextWatched++ % SESSIONS);
  }

  async #tryToWatch(number: number): Promise<void> {
    const path = (word: string) => `${this.#urls.shared}/session/${word}-s${number}/message:watch?fromPosition=0`;
    const foreign = await this.#send(path(this.#other.word), { method: "GET", path: "", names: [] });
    checkSilent(foreign, this.#other.word, [`${this.#other.word}-s${number}`]);
    if (foreign.status !== 404) throw new Error(`The other's session can be watched: ${foreign.status}`);
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${this.#user.key}`, accept: "application/x-ndjson" };
    const answer = await fetch(path(this.#user.word), { headers, signal: stop.signal });
    if (answer.status === 404) return answer.body?.cancel();
    const ended = this.#read(answer).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    // A failure is thrown where the watch ends.
    ended.catch(() => {});
    this.#watch = { stop, ended };
  }

  async #read(answer: Response): Promise<void> {
    let text = "";
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        checkSilent({ status: answer.status, headers: answer.headers, text: line }, this.#other.word, []);
        this.watched++;
      }
    }
  }

  async #endWatch(): Promise<void> {
    this.#watch?.stop.abort();
    await this.#watch?.ended;
    this.#watch = undefined;
  }
}

/** What the answers of two servers must agree in. Lists may differ in their order, which follows times. */
function shapeOf(answers: readonly Answer[], { list }: UserRequest): unknown {
  const shapes = answers.map((answer) => comparable(answer) as { readonly body: Readonly<Record<string, unknown[]>> });
  if (list === undefined || list === "messages") return shapes;
  const items = shapes.flatMap(({ body }) => body[list] ?? []).map((item) => JSON.stringify(item));
  const pages = shapes.map((shape) => ({ ...shape, body: { ...shape.body, [list]: shape.body[list]?.length } }));
  return { pages, items: items.sort() };
}
