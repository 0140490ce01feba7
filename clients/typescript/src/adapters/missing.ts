import { Code, ConnectError } from "../index.js";

/** Resolves to the answer of the call, or to undefined when the session or message does not exist. */
export async function unlessMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (hasCode(error, Code.NotFound)) return undefined;
    throw error;
  }
}

export function hasCode(error: unknown, code: Code): boolean {
  return error instanceof ConnectError && error.code === code;
}
