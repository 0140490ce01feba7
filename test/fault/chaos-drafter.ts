import type { Random } from "../simulation/random.js";
import { bodyOf, type Fleet, type Reply } from "./chaos-fleet.js";

const MOST_MESSAGES = 40;

/** A message that its session must hold. */
interface Known {
  readonly id: string;
  readonly text: string;
}

/**
 * Writes drafts in a session of its own, edits and deletes messages, and changes its labels. It repeats each call to
 * one process after the other until it is answered, so that it knows after each call what the session must hold.
 */
export class ChaosDrafter {
  readonly problems: string[] = [];
  readonly #name: string;
  readonly #fleet: Fleet;
  readonly #random: Random;
  #known: readonly Known[] = [];
  #number = 0;
  #finished = 0;

  constructor(name: string, fleet: Fleet, random: Random) {
    this.#name = name;
    this.#fleet = fleet;
    this.#random = random;
  }

  /** How many drafts have become messages. */
  get finished(): number {
    return this.#finished;
  }

  async work(isOver: () => boolean): Promise<void> {
    await this.#ask("POST", "/session", { sessionId: this.#name });
    while (!isOver()) {
      await this.#step();
      await this.check();
    }
  }

  /** Compares the messages that a process returns with those that the session must hold. */
  async check(): Promise<void> {
    const { messages = [] } = (await this.#body("GET", `${this.#path}/message?limit=1000&offset=0`)) as {
      messages?: { info: { id: string }; parts?: { text?: string }[] }[];
    };
    const shown = messages.map(({ info, parts = [] }) => ({ id: info.id, text: parts[0]?.text ?? "" }));
    if (JSON.stringify(shown) === JSON.stringify(this.#known)) return;
    this.problems.push(`${this.#name} holds ${JSON.stringify(shown)} in place of ${JSON.stringify(this.#known)}`);
    this.#known = shown;
  }

  get #path(): string {
    return `/session/${this.#name}`;
  }

  async #step(): Promise<void> {
    const dice = this.#random.int(100);
    if (this.#known.length > MOST_MESSAGES) return this.#truncate();
    if (this.#known.length < 2 || dice < 60) return this.#draft();
    if (dice < 75) return this.#update();
    if (dice < 88) return this.#delete();
    return this.#label();
  }

  async #draft(): Promise<void> {
    const id = `${this.#name}-${++this.#number}`;
    const path = `${this.#path}/draft/${id}`;
    await this.#body("POST", `${this.#path}/draft`, { message: { info: { id, role: "assistant" } } });
    let text = "";
    let version = 1;
    for (let i = this.#random.int(6); i > 0; i--) {
      const token = `${id}.${version} `;
      const answer = await this.#body("POST", `${path}:extend`, { version, deltas: [deltaOf(token)] });
      if (Number(answer.version) !== version + 1)
        this.problems.push(`${id}: version ${answer.version} after ${version}`);
      version += 1;
      text += token;
    }
    if (this.#random.chance(0.2)) {
      await this.#body("DELETE", path);
      return;
    }
    const last = { version, deltas: [deltaOf("end")], metadata: { done: true } };
    const { messageId, position = 0 } = await this.#body("POST", `${path}:finish`, last);
    if (messageId !== id || Number(position) !== this.#known.length) {
      this.problems.push(`${id} was finished as ${messageId} at ${position}, not at ${this.#known.length}`);
    }
    this.#known = [...this.#known, { id, text: `${text}end` }];
    this.#finished++;
  }

  async #update(): Promise<void> {
    const place = this.#random.int(this.#known.length);
    const { id } = this.#known[place] as Known;
    const text = `edit ${++this.#number}`;
    await this.#body("PATCH", `${this.#path}/message/${id}`, { parts: [{ type: "text", text }] });
    this.#known = this.#known.with(place, { id, text });
  }

  async #delete(): Promise<void> {
    const place = this.#random.int(this.#known.length);
    const { id } = this.#known[place] as Known;
    const { reply, isRepeat } = await this.#ask("DELETE", `${this.#path}/message/${id}`);
    const isDone = isRepeat && reply.kind === "refusal" && reply.status === 404;
    if (!isDone) bodyOf(reply, `delete ${id}`);
    this.#known = this.#known.toSpliced(place, 1);
  }

  async #truncate(): Promise<void> {
    await this.#body("POST", `${this.#path}/message:truncate`, { toStart: true });
    this.#known = [];
  }

  async #label(): Promise<void> {
    const label = `at${++this.#number}`;
    await this.#body("PATCH", this.#path, { labels: { [this.#name]: label } });
    const query = encodeURIComponent(`${this.#name}=${label}`);
    const { sessions = [] } = (await this.#body("GET", `/session?label=${query}`)) as { sessions?: unknown[] };
    if (sessions.length !== 1) this.problems.push(`${sessions.length} sessions have the label ${label}`);
  }

  async #body(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    return bodyOf((await this.#ask(method, path, body)).reply, `${method} ${path}`);
  }

  #ask(method: string, path: string, body?: unknown): Promise<{ reply: Reply; isRepeat: boolean }> {
    return this.#fleet.settle(this.#random.int(this.#fleet.size), method, path, body);
  }
}

function deltaOf(text: string): object {
  return { appendText: { partId: "", text } };
}
