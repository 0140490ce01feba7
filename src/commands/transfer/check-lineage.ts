import type { NumberRange, SessionImage } from "../../domain/session-image.js";

type Lineage = Pick<SessionImage<NumberRange>, "parentId" | "forkPointId" | "inheritedCount">;

/** Throws an Error when what a session says about the messages that it inherited cannot be true of any session. */
export function checkLineage({ parentId, forkPointId, inheritedCount }: Lineage): void {
  if (inheritedCount > 0 !== (forkPointId !== "")) {
    const given = forkPointId === "" ? "missing" : JSON.stringify(forkPointId);
    throw new Error(`session.inheritedCount is ${inheritedCount}, but session.forkPointId is ${given}`);
  }
  if (inheritedCount > 0 && parentId === "") {
    throw new Error(`session.inheritedCount is ${inheritedCount}, but session.parentId is missing`);
  }
}

/**
 * Throws an Error when what a session says about the messages that it inherited cannot be true, as {@link checkLineage}
 * does, for a session of which everything is known: its origin must agree, and only an edit can have removed messages.
 */
export function checkInherited(image: SessionImage<NumberRange>): void {
  checkLineage(image);
  const { parentId, forkPointId, inheritedCount, origin, revision } = image;
  const shown = shownCount(image);
  if (revision === 1 && shown < inheritedCount) {
    throw new Error(
      `session.inheritedCount is ${inheritedCount}, but a session of revision 1, which was never edited, names only ${shown} messages`,
    );
  }
  if (origin === null) return;
  if (origin.sourceSessionId !== parentId) {
    throw new Error(
      `session.origin.sourceSessionId is ${JSON.stringify(origin.sourceSessionId)}, but session.parentId is ${JSON.stringify(parentId)}`,
    );
  }
  if (origin.upToMessageId !== "" && origin.upToMessageId !== forkPointId) {
    throw new Error(
      `session.origin.upToMessageId is ${JSON.stringify(origin.upToMessageId)}, but session.forkPointId is ${JSON.stringify(forkPointId)}`,
    );
  }
}

/** How many messages the history of a session shows. */
export function shownCount({ messages }: Pick<SessionImage<NumberRange>, "messages">): number {
  return messages.reduce((count, { first, last }) => count + last - first + 1, 0);
}
