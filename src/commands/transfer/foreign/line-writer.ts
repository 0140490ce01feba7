import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LinePlace } from "../lines.js";

const FLUSH_CHARACTERS = 1024 * 1024;

/** Writes lines to a temporary file that only this process can reach, and that is gone when the process ends. */
export class LineWriter {
  readonly file: FileHandle;
  readonly #folder: string;
  #lines: string[] = [];
  #characters = 0;
  #number = 0;
  #offset = 0;

  private constructor(file: FileHandle, folder: string) {
    this.file = file;
    this.#folder = folder;
  }

  static async create(): Promise<LineWriter> {
    const folder = await mkdtemp(join(tmpdir(), "session-pool-import-"));
    const file = await open(join(folder, "sessions.jsonl"), "wx+", 0o600);
    // On Windows an open file keeps its folder, which is removed in the end.
    await rm(folder, { recursive: true }).catch(() => {});
    return new LineWriter(file, folder);
  }

  /** Adds a value as a line; returns its place. */
  async add(value: object): Promise<LinePlace> {
    const line = `${JSON.stringify(value)}\n`;
    this.#number += 1;
    const place = { number: this.#number, offset: this.#offset };
    this.#offset += Buffer.byteLength(line);
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters > FLUSH_CHARACTERS) await this.flush();
    return place;
  }

  async flush(): Promise<void> {
    await this.file.appendFile(this.#lines.join(""));
    this.#lines = [];
    this.#characters = 0;
  }

  async close(): Promise<void> {
    await this.file.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
