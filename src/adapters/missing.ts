import { Code, ConnectError } from "../client/index.js";

/** What the call answers; undefined when the session or the message is not there. */
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
