import { Code } from "@connectrpc/connect";

/** gRPC's name of a code in lower case; `ok` for 0. */
export function codeName(code: number): string {
  const name = Code[code];
  return name === undefined ? "ok" : name.replace(/(?!^)[A-Z]/g, "_$&").toLowerCase();
}
