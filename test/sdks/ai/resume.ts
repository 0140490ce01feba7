import { isDeepStrictEqual } from "node:util";
import type { UIMessage, UIMessageChunk } from "ai";
import { differenceOf } from "../differences.js";
import type { AiSdk } from "./sdk.js";
import type { Chunk } from "./streams.js";

/** Ends readers that do not end by themselves. */
const MOST_TIME_MS = 60_000;

/**
 * Keeps a stream, and resumes it after each chunk. Throws when a resumed reader, or what is stored, differs from what
 * the SDK's own reader makes of the stream.
 */
export async function resumeAfterEachChunk({ ai, ours }: AiSdk, baseUrl: string, chunks: readonly Chunk[]) {
  const calls = new Calls();
  const client = ours.createSessionPoolClient({ baseUrl, fetch: calls.fetch });
  const sessionId = crypto.randomUUID();
  let feed: ReadableStreamDefaultController<string> | undefined;
  const stream = new ReadableStream<string>({
    start(controller) {
      feed = controller;
    },
  });
  const signal = AbortSignal.timeout(MOST_TIME_MS);
  const kept = ours.keepUIMessageStream(client, sessionId, stream);
  const readers: [number, Promise<UIMessage | undefined>][] = [];
  for (const [i, chunk] of chunks.entries()) {
    feed?.enqueue(`data: ${JSON.stringify(chunk)}\n\n`);
    await calls.settled();
    const resumed = await ours.resumeUIMessageStream(client, sessionId, { signal });
    if (resumed !== null) readers.push([i, read(ai, resumed)]);
  }
  feed?.close();
  await kept;

  const expected = await read(ai, new Blob([]).stream().pipeThrough(replaced(chunks)));
  expectSame(
    "stored",
    unlessStreaming((await ours.loadUIMessages(client, sessionId)).at(-1)),
    unlessStreaming(expected),
  );
  for (const [i, reader] of readers)
    expectSame(`resumed after ${chunks[i]?.type} (${i})`, unlessInterrupted(await reader), unlessInterrupted(expected));
  if (readers.length === 0) throw new Error("no reader could resume the stream");
}

/** Follows the calls of a client, except watches, which are answered at once and go on. */
class Calls {
  #count = 0;

  readonly fetch: typeof fetch = async (...request) => {
    this.#count++;
    try {
      return await fetch(...request);
    } finally {
      this.#count--;
    }
  };

  /** Resolves when everything that was written before has been sent and answered. */
  async settled(): Promise<void> {
    for (let idle = 0; idle < 10; idle = this.#count === 0 ? idle + 1 : 0)
      await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The last state of the message. A stream that ends with an error has one, too. */
async function read(ai: AiSdk["ai"], stream: ReadableStream<UIMessageChunk>): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  try {
    for await (const state of ai.readUIMessageStream({ stream, onError: () => {} })) last = structuredClone(state);
  } catch {
    // The SDK has told of the error, and `last` is what its user sees.
  }
  return last;
}

function replaced(chunks: readonly Chunk[]): TransformStream<unknown, UIMessageChunk> {
  return new TransformStream({
    flush(controller) {
      for (const chunk of chunks) controller.enqueue(structuredClone(chunk) as unknown as UIMessageChunk);
    },
  });
}

/** Without the mark that we give to an answer that was not finished. */
function unlessInterrupted(message: UIMessage | undefined): UIMessage | undefined {
  if (message === undefined) return undefined;
  const { interrupted, ...metadata } = (message.metadata ?? {}) as { interrupted?: boolean };
  return { ...message, metadata };
}

/** Without what is not stored, either: whether a text is still streaming. */
export function unlessStreaming(loaded: UIMessage | undefined): unknown {
  const message = unlessInterrupted(loaded);
  if (message === undefined) return undefined;
  const parts = message.parts.map(({ ...part }: { type: string; state?: string }) => {
    if (part.type === "text" || part.type === "reasoning") delete part.state;
    return part;
  });
  return { ...message, parts };
}

export function expectSame(what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(asJson(actual), asJson(expected)))
    throw new Error(`${what}: ${differenceOf(actual, expected)}`);
}

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}
