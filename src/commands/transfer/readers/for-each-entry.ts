import type { Entry, ForeignSession, ReadContext } from "./reader.js";

/**
 * Reads each entry by itself. An Error about one of them is noted, with its place, and the others are read all the
 * same.
 */
export async function* forEachEntry(
  entries: AsyncIterable<Entry>,
  { notes }: ReadContext,
  read: (value: unknown, place: string) => Iterable<ForeignSession>,
): AsyncGenerator<ForeignSession> {
  for await (const { value, place } of entries) {
    try {
      yield* [...read(value, place)];
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      notes.leftOut("conversations that cannot be read", `${place}: ${error.message}`);
    }
  }
}
