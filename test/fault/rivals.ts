import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { expect } from "vitest";
import type { StorageProvider } from "../../src/storage/storage-provider.js";
import { prepare, type RivalTask, shownBy } from "./rival-calls.js";

/** A process of its own that carries out tasks (rival-child.ts). */
class Rival {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(script: string, url: string, maxSegments: number) {
    this.#child = spawn(process.execPath, [script, url, String(maxSegments)], { stdio: ["pipe", "pipe", "inherit"] });
    const lines: Interface = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The process has ended");
    return value;
  }

  async run(task: RivalTask): Promise<readonly string[]> {
    this.#child.stdin?.write(`${JSON.stringify(task)}\n`);
    return JSON.parse(await this.line()) as readonly string[];
  }

  async end(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
  }
}

/**
 * Has one process for each task change the same session at once. Every call must be answered before its deadline, and
 * afterwards the session must show what all of them together have made of it.
 */
export async function expectNoneStarves(
  { script, url, maxSegments }: { readonly script: string; readonly url: string; readonly maxSegments: number },
  provider: StorageProvider,
  tasks: readonly RivalTask[],
): Promise<void> {
  const expected = await prepare(provider, tasks);
  const rivals = tasks.map(() => new Rival(script, url, maxSegments));
  try {
    for (const rival of rivals) expect(await rival.line()).toBe("ready");
    const failures = await Promise.all(tasks.map((task, i) => (rivals[i] as Rival).run(task)));
    expect(failures.flat()).toEqual([]);
  } finally {
    await Promise.all(rivals.map((rival) => rival.end()));
  }
  const { ids, times, texts } = await shownBy(provider);
  expect(ids).toHaveLength(expected.size);
  expect(new Map(ids.map((id, i) => [id, texts[i]]))).toEqual(new Map(expected));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
}
