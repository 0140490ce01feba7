import { Code } from "@connectrpc/connect";
import { createLocalJWKSet, type JSONWebKeySet } from "jose";
import { ApiError } from "../../api/api-error.js";

/** The largest key set, decompressed, and the most keys in it. Each key of a new set takes time to prepare. */
const MOST_BYTES = 1024 * 1024;
const MOST_KEYS = 1000;

/**
 * Gets a key set behind a URL. Rejects with `unavailable` when it cannot be read, or as soon as it turns out to be too
 * large. `options.signal` limits how long all of it may take to arrive.
 */
export async function fetchKeySet(url: string, options: RequestInit): Promise<JSONWebKeySet> {
  try {
    const response = await fetch(url, options);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`The answer has the status ${response.status}`);
    }
    // Throws if it is none. Later errors of jose then concern a single token, or the key of one.
    const keySet = createLocalJWKSet(JSON.parse(await readText(response)) as JSONWebKeySet).jwks();
    if (keySet.keys.length > MOST_KEYS) throw new Error(`The set has more than ${MOST_KEYS} keys`);
    return keySet;
  } catch (cause) {
    throw new ApiError(Code.Unavailable, "The key set for tokens cannot be read", { cause });
  }
}

/** Counts what comes out of a compressed answer. Leaving the loop early ends the connection. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`The answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
