import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { SingleBar } from "cli-progress";
import { DomainError } from "../../domain/errors.js";
import type { RootPool } from "../../pool/root-pool.js";
import { withPools } from "../with-pools.js";
import type { TransferTarget } from "./export-sessions.js";
import { progressBar } from "./progress-bar.js";
import { isChatGpt, readChatGpt } from "./read-chatgpt.js";
import { isOpenCode, readOpenCode } from "./read-opencode.js";
import { readOwn } from "./read-own.js";
import { type FileItem, isFileHeader } from "./session-file.js";
import { addTodos, SessionWriter } from "./session-writer.js";

type Items = AsyncIterable<FileItem> | Iterable<FileItem>;

/**
 * Reads sessions from a file of this program's own, of OpenCode or of ChatGPT. Can be repeated. A session that cannot be stored is told
 * and left out; then the command fails in the end.
 */
export async function importSessions({ storage, namespace }: TransferTarget, path: string): Promise<void> {
  const { size } = await stat(path);
  const bar = progressBar("Importing", "bytes");
  bar.start(size, 0);
  const items = await openFile(path, bar);
  const { imported, refused } = await withPools(storage, (pools) => writeAll(pools.for(namespace), items)).finally(() =>
    bar.stop(),
  );
  for (const text of refused) process.stderr.write(`${text}\n`);
  process.stderr.write(`Imported ${imported} sessions\n`);
  if (refused.length > 0) throw new Error(`${refused.length} sessions were not imported`);
}

async function openFile(path: string, bar: SingleBar): Promise<Items> {
  if (await isOwnFile(path)) return readOwn(linesOf(path, bar));
  const value = parseWhole(await readFile(path, "utf8"), path);
  if (isChatGpt(value)) return readChatGpt(value);
  if (isOpenCode(value)) return readOpenCode(value);
  throw new Error(`${path} is no export of session-pool, OpenCode or ChatGPT`);
}

/** Opens the file when the first line is asked for: lines that come before anybody listens would be lost. */
async function* linesOf(path: string, bar: SingleBar): AsyncGenerator<string> {
  const input = createReadStream(path).on("data", (chunk) => bar.increment(chunk.length));
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

async function isOwnFile(path: string): Promise<boolean> {
  const lines = createInterface({ input: createReadStream(path, { end: 1023 }) });
  try {
    const { value } = await lines[Symbol.asyncIterator]().next();
    return isFileHeader(JSON.parse(value ?? ""));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  } finally {
    lines.close();
  }
}

function parseWhole(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path} is no JSON, nor an export of session-pool`, { cause });
  }
}

async function writeAll(pool: RootPool, items: Items): Promise<{ imported: number; refused: string[] }> {
  const sessions = new SessionSequence(pool);
  for await (const item of items) {
    if ("session" in item) await sessions.begin(item.session);
    else if ("message" in item) await sessions.add(item.message);
    else await addTodos(pool, item.todos);
  }
  await sessions.end();
  return sessions;
}

/** One session after the other; the messages of one that was refused are passed over. */
class SessionSequence {
  imported = 0;
  readonly refused: string[] = [];
  readonly #pool: RootPool;
  #sessionId = "";
  #writer: SessionWriter | undefined;

  constructor(pool: RootPool) {
    this.#pool = pool;
  }

  async begin(session: ConstructorParameters<typeof SessionWriter>[1]): Promise<void> {
    await this.end();
    this.#sessionId = session.sessionId;
    this.#writer = new SessionWriter(this.#pool, session);
  }

  add(message: Parameters<SessionWriter["add"]>[0]): Promise<void> {
    return this.#unlessRefused((writer) => writer.add(message));
  }

  async end(): Promise<void> {
    await this.#unlessRefused(async (writer) => {
      await writer.finish();
      this.imported += 1;
    });
    this.#writer = undefined;
  }

  async #unlessRefused(run: (writer: SessionWriter) => Promise<void>): Promise<void> {
    if (this.#writer === undefined) return;
    try {
      await run(this.#writer);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
      this.refused.push(`Session ${JSON.stringify(this.#sessionId)}: ${error.message}`);
      this.#writer = undefined;
    }
  }
}
