import { once } from "node:events";
import { createWriteStream, fstatSync, type Stats, statSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";

export type Write = (data: string | Uint8Array) => Promise<void>;

/**
 * Lets a function write a file, or standard output (`-`). A file gets its name only once it is complete; an existing
 * file stays until then.
 */
export async function writeOutput<T>(path: string, run: (write: Write) => Promise<T>): Promise<T> {
  if (path === "-") return run(writerOf(process.stdout));
  // A pipe or a device is written directly.
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  const partial = isFile ? `${path}.partial` : path;
  // An existing file or link is removed, because it would keep its mode and may be somebody else's.
  if (isFile) await rm(partial, { force: true });
  const out = createWriteStream(partial, isFile ? { mode: 0o600, flags: "wx", flush: true } : {});
  const [fd] = await once(out, "open");
  const own = fstatSync(fd);
  try {
    const result = await run(writerOf(out));
    out.end();
    await finished(out);
    if (isFile && !isAt(partial, own)) throw new Error(`${partial} was replaced; does another export write it?`);
    if (isFile) await rename(partial, path);
    return result;
  } catch (error) {
    out.destroy();
    if (isFile && isAt(partial, own)) await rm(partial, { force: true });
    throw error;
  }
}

/** Whether the path still names this file, and not one that another program has put there. */
function isAt(path: string, { dev, ino }: Stats): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.dev === dev && found.ino === ino;
}

function writerOf(out: Writable): Write {
  // Each write reports its own error. Without a listener, the event would end the process.
  out.on("error", () => {});
  return (data) => new Promise((resolve, reject) => out.write(data, (error) => (error ? reject(error) : resolve())));
}
