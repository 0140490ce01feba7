import type { Access } from "../../domain/access.js";

/** What stood around the last item of a page. */
export interface Place {
  /** The items of the page, the last one first. */
  readonly shown: readonly string[];
  /** The item that the next page begins with, if it is known. */
  readonly next: string | undefined;
  /** The item after which the page began; empty at the beginning of the list. */
  readonly after: string;
}

/** A list of the items of one conversation, in one direction, as one kind of caller sees it. */
export interface ListName {
  readonly namespace: string;
  /** Absent for callers that see the whole namespace. */
  readonly access: Access | undefined;
  readonly sessionId: string;
  readonly newestFirst: boolean;
}

/** Where a list can go on: with an item, after it, or, without one, at the beginning of the list. */
export interface Continuation {
  readonly itemId: string | undefined;
  readonly isListed: boolean;
}

const MOST_PLACES = 1000;

/**
 * Remembers the ends of the pages that were answered last, so that a list goes on where it was when the item that it
 * goes on after has been deleted since. The memory is this process's own.
 */
export class ListPlaces {
  readonly #places = new Map<string, Place>();

  remember(list: ListName, place: Place): void {
    const key = keyOf(list, place.shown[0] ?? "");
    this.#places.delete(key);
    this.#places.set(key, place);
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= MOST_PLACES) return;
      this.#places.delete(oldest);
    }
  }

  /**
   * What the list may go on from in place of an item that is gone, best first. Nothing if the item did not end a page.
   */
  *continuations(list: ListName, itemId: string): Generator<Continuation> {
    const seen = new Set<string>();
    for (let after = itemId; !seen.has(after); ) {
      const place = this.#places.get(keyOf(list, after));
      if (place === undefined) return;
      seen.add(after);
      if (place.next !== undefined) yield { itemId: place.next, isListed: false };
      for (const shown of place.shown) if (!seen.has(shown)) yield { itemId: shown, isListed: true };
      if (place.after === "") yield { itemId: undefined, isListed: false };
      after = place.after;
    }
  }
}

/** Places belong to who may see the list, because its conversation may become, or be followed by, somebody else's. */
function keyOf({ namespace, access, sessionId, newestFirst }: ListName, itemId: string): string {
  return JSON.stringify([namespace, access ?? null, sessionId, newestFirst, itemId]);
}
