import type { NumberRange, SessionImage } from "../../../domain/session-image.js";
import type { BackupIndex } from "../backup-index.js";
import { checkAncestry } from "../check-ancestry.js";
import type { ImportNotes } from "./import-notes.js";

type Image = SessionImage<NumberRange>;

/** What is kept in memory of each session until all are known. */
export interface Family
  extends Pick<
    Image,
    "sessionId" | "parentId" | "forkPointId" | "inheritedCount" | "origin" | "messages" | "undo" | "revision"
  > {
  /** The parent's id as the file has it; empty for forks. */
  readonly givenParentId: string;
  /** The session of which this one is a branch. */
  readonly source: number | undefined;
}

export type Linked = Omit<Family, "givenParentId" | "source"> & Pick<Image, "ancestry">;

/**
 * Finds the parents of all sessions, wherever they stand in the file, and what each session inherits from its
 * ancestors. Fixes the order in which the index stores them.
 */
export function linkFamilies(
  families: readonly Family[],
  originals: ReadonlyMap<string, number>,
  index: BackupIndex,
  notes: ImportNotes,
): readonly Linked[] {
  const parents = parentsOf(families, originals, notes);
  for (const [session, parent] of parents.entries()) if (parent !== undefined) index.noteSource(session, parent);
  index.fixOrder();
  const linked: Linked[] = new Array(families.length);
  for (const session of index.order) {
    const { givenParentId: _, source, ...family } = families[session] as Family;
    const parent = parents[session];
    const ancestry = ancestryOf(parent === undefined ? undefined : linked[parent], source === undefined);
    linked[session] = { ...family, ancestry: fitting(family.sessionId, ancestry, notes) };
    // A branch begins with messages of its source; all others name only what their ancestors show.
    for (const { ranges } of linked[session].ancestry) for (const range of ranges) index.noteNamed(range);
    if (source !== undefined) for (const range of family.messages) index.noteNamed(range);
  }
  return linked;
}

/** A child sees what its parent shows; a branch has the ancestors of its source. */
function ancestryOf(parent: Linked | undefined, isChild: boolean): Image["ancestry"] {
  if (parent === undefined) return [];
  const { sessionId, ancestry, messages } = parent;
  return isChild && messages.length > 0 ? [...ancestry, { sessionId, ranges: messages }] : ancestry;
}

/** An ancestry that no record can hold is left out. */
function fitting(sessionId: string, ancestry: Image["ancestry"], notes: ImportNotes): Image["ancestry"] {
  try {
    checkAncestry({ sessionId, ancestry });
    return ancestry;
  } catch (error) {
    notes.leftOut("messages of ancestors, beyond the longest chain of parents", (error as Error).message);
    return [];
  }
}

/** The parent or source of each session. A circle of parents is opened where it is found. */
function parentsOf(families: readonly Family[], originals: ReadonlyMap<string, number>, notes: ImportNotes) {
  const parents = families.map(({ source, givenParentId }) => source ?? originals.get(givenParentId));
  const isDone = new Uint8Array(families.length);
  for (let start = 0; start < parents.length; start++) {
    const chain = new Set<number>();
    for (let next: number | undefined = start; next !== undefined && !isDone[next]; next = parents[next]) {
      chain.add(next);
      const parent = parents[next];
      if (parent === undefined || !chain.has(parent)) continue;
      const { sessionId } = families[next] as Family;
      notes.mended("parents that are descendants", `session ${JSON.stringify(sessionId)}`);
      parents[next] = undefined;
    }
    for (const session of chain) isDone[session] = 1;
  }
  return parents;
}
