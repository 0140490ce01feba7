import type { Call } from "../../../domain/call.js";
import type { Head } from "../heads.js";
import type { Entry, Segment, SessionRecord } from "../log-store.js";
import { isSameList } from "../segments.js";
import type { SideLogs } from "../write/side-logs.js";
import { layersOf } from "./annotation-entry.js";

/**
 * Copies all annotations of a session to as few logs as possible. An id is unique in a log, so two annotations of one
 * message go to two logs.
 */
export async function mergeAnnotations(
  sideLogs: SideLogs,
  head: Head,
  entries: readonly Entry[],
  call?: Call,
): Promise<void> {
  const before = head.record.annotations ?? [];
  await write(head.record, layersOf(entries), []);

  async function write(
    record: SessionRecord,
    [layer, ...layers]: readonly (readonly Entry[])[],
    written: readonly Segment[],
  ): Promise<true | null> {
    if (layer === undefined) {
      const isReplaced = await sideLogs.replaceFields(record, (now) => {
        if (!isSameList(now.annotations ?? [], before) || !areNamed(now, written)) return null;
        const namedLogs = now.namedLogs.filter(({ log }) => !written.some((segment) => segment.log === log));
        return { annotations: written, namedLogs };
      });
      return isReplaced ? true : null;
    }
    return sideLogs.using(record, call, async (side) => {
      // Rule: erase-ends-copies. What was read before the log had its name may have been erased since.
      if (side.record.revision !== record.revision + 1) return null;
      if (!(await sideLogs.append(side, head, 0, layer, call))) return null;
      return write(side.record, layers, [...written, { log: side.log, first: 1, last: layer.length }]);
    });
  }
}

/** Whether an erasure has left the names of all these logs. */
function areNamed({ namedLogs }: SessionRecord, written: readonly Segment[]): boolean {
  return written.every((segment) => namedLogs.some(({ log }) => log === segment.log));
}
