import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Keeps the lines of one session until all of them are there: in memory, or in a temporary file when there are many.
 */
export class Spool {
  #lines: string[] = [];
  #bytes = 0;
  #folder = "";
  #file: FileHandle | undefined;

  async add(line: string): Promise<void> {
    this.#lines.push(line);
    this.#bytes += line.length;
    if (this.#bytes > MEMORY_BYTES) await this.#spill();
  }

  /** Passes on all lines in their order. */
  async drain(write: (data: string | Uint8Array) => Promise<void>): Promise<void> {
    if (this.#file !== undefined) {
      await this.#spill();
      for (let position = 0; ; ) {
        const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, position);
        if (bytesRead === 0) return;
        await write(buffer.subarray(0, bytesRead));
        position += bytesRead;
      }
    }
    if (this.#lines.length > 0) await write(this.#lines.join(""));
  }

  async close(): Promise<void> {
    await this.#file?.close();
    if (this.#folder !== "") await rm(this.#folder, { recursive: true, force: true });
  }

  async #spill(): Promise<void> {
    if (this.#file === undefined) {
      this.#folder = await mkdtemp(join(tmpdir(), "session-pool-export-"));
      this.#file = await open(join(this.#folder, "session.jsonl"), "wx+", 0o600);
      // From now on only this process can reach the file, and nothing of it stays however the process ends. On Windows
      // an open file keeps its folder, which is removed in the end.
      await rm(this.#folder, { recursive: true }).catch(() => {});
    }
    await this.#file.appendFile(this.#lines.join(""));
    this.#lines = [];
    this.#bytes = 0;
  }
}
