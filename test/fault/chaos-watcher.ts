import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../simulation/random.js";
import type { Fleet } from "./chaos-fleet.js";

const PAUSE_MS = 20;

interface Line {
  readonly result?: {
    readonly appended?: { readonly info: { readonly id: string } };
    readonly heartbeat?: object;
    readonly resumeToken: string;
  };
  readonly error?: object;
}

/**
 * Follows a session that is only appended to, on one process after the other. Whenever a stream ends, it resumes after
 * the last event that it has received.
 */
export class ChaosWatcher {
  readonly problems: string[] = [];
  readonly ids: string[] = [];
  readonly #session: string;
  readonly #fleet: Fleet;
  readonly #random: Random;
  readonly #over = new AbortController();
  #token = "";
  #running: Promise<void> | undefined;

  constructor(session: string, fleet: Fleet, random: Random) {
    this.#session = session;
    this.#fleet = fleet;
    this.#random = random;
  }

  start(): void {
    this.#running = this.#run().catch((error) => void this.problems.push(`a watcher of ${this.#session}: ${error}`));
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      for await (const line of this.#lines()) this.#take(JSON.parse(line) as Line);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** The whole lines that one process sends, until the stream ends or breaks. */
  async *#lines(): AsyncGenerator<string> {
    const from = this.#token ? `resume_token=${encodeURIComponent(this.#token)}` : "from_position=0";
    const { httpUrl } = this.#fleet.at(this.#random.int(this.#fleet.size));
    let rest = "";
    try {
      const url = `${httpUrl}/session/${this.#session}/message:watch?${from}`;
      const headers = { accept: "application/x-ndjson" };
      const { body } = await fetch(url, { headers, signal: this.#over.signal });
      for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines: string[] = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        yield* lines;
      }
    } catch (error) {
      // The process was killed, or this is over. A line that cannot be read is no such error.
      if (!(error instanceof TypeError || this.#over.signal.aborted)) throw error;
    }
  }

  #take({ result, error }: Line): void {
    // The stream ends with an error when the process stops or when rows of an old state were swept. It may be resumed.
    if (!result) return void (error ?? this.problems.push(`a watcher of ${this.#session} was sent nothing`));
    this.#token = result.resumeToken;
    if (result.appended) this.ids.push(result.appended.info.id);
    else if (!result.heartbeat) this.problems.push(`a watcher of ${this.#session} was sent ${JSON.stringify(result)}`);
  }
}
