import { createPublicKey, KeyObject } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { CryptoKey, JSONWebKeySet, JWK } from "jose";

/** The keys that a key set has now. What runs under a token ends when the key that signed it is removed. */
export class PresentKeys {
  #removals: ReadonlyMap<string, AbortController> = new Map();

  /** Takes note of a newer state of the set. */
  update({ keys }: JSONWebKeySet): void {
    const before = this.#removals;
    const ids = keys.map(idOfJwk).filter((id) => id !== undefined);
    const removals = new Map(ids.map((id) => [id, before.get(id) ?? makeRemoval()]));
    this.#removals = removals;
    for (const [id, removal] of before) if (!removals.has(id)) removal.abort();
  }

  /** Aborted when the key is removed from the set. Undefined if the set no longer has it. */
  removalOf(key: CryptoKey): AbortSignal | undefined {
    return this.#removals.get(idOf(KeyObject.from(key)))?.signal;
  }
}

function makeRemoval(): AbortController {
  const removal = new AbortController();
  // Every stream of a token that the key has signed adds a listener.
  setMaxListeners(0, removal.signal);
  return removal;
}

/** Undefined for a key that cannot be used, and so has signed no token that was accepted. */
function idOfJwk(key: JWK): string | undefined {
  try {
    return idOf(createPublicKey({ key, format: "jwk" }));
  } catch {
    return undefined;
  }
}

/** The key itself, because keys may have no name, or share one. */
function idOf(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64");
}
