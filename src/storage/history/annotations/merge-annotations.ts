import type { Call } from "../../../domain/call.js";
import type { Head, HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { isSameList } from "../segments.js";
import type { SideLog, SideLogs } from "../write/side-logs.js";
import { layersOf, readAnnotations } from "./annotation-entry.js";

/** Copies all annotations of a session to as few logs as possible: as many as one message has annotations, at most. */
export async function mergeAnnotations(
  context: HistoryContext,
  sideLogs: SideLogs,
  head: Head,
  call?: Call,
): Promise<void> {
  const { record } = head;
  const before = record.annotations ?? [];
  const known = await readLayers();
  await withLogs(known.length, record, []);

  async function withLogs(count: number, now: SessionRecord, sides: readonly SideLog[]): Promise<true | null> {
    if (count === 0) return write(now, sides);
    return sideLogs.using(now, call, (side) => withLogs(count - 1, side.record, [...sides, side]));
  }

  async function write(now: SessionRecord, sides: readonly SideLog[]): Promise<true | null> {
    // Rule: erase-ends-copies. What was read before the logs had their names may have been erased since.
    const layers = await readLayers();
    if (layers.length > sides.length) return null;
    for (const [i, layer] of layers.entries()) {
      if (!(await sideLogs.append(sides[i] as SideLog, head, 0, layer, call))) return null;
    }
    const logs = sides.map(({ log }) => log);
    const annotations = layers.map((layer, i) => ({ log: logs[i] as string, first: 1, last: layer.length }));
    const isReplaced = await sideLogs.replaceFields(
      now,
      ({ annotations: others = [], namedLogs }) => {
        const left = namedLogs.filter(({ log }) => !logs.includes(log));
        if (left.length !== namedLogs.length - logs.length || !isSameList(others, before)) return null;
        return { annotations: annotations.length === 0 ? undefined : annotations, namedLogs: left };
      },
      call,
    );
    return isReplaced ? true : null;
  }

  async function readLayers() {
    return layersOf((await readAnnotations(context, record, call)).map(({ entry }) => entry));
  }
}
