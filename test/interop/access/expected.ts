import type { Caller, Kind } from "./bed.js";
import type { AccessRow } from "./rows.js";

/** How a request ends, as far as access decides that. */
export type Verdict =
  /** The caller may do it, whatever then comes of it. */
  | "admitted"
  /** As if there were no such session. */
  | "hidden"
  /** The id is taken. */
  | "taken"
  | "denied";

const SCOPES = ["read", "write", "admin"];
const SCOPE_OF: Readonly<Record<Caller, string>> = {
  "bound key": "write",
  "bound token": "write",
  "key to read": "read",
  "key to write": "write",
  "key to administer": "admin",
};

type Decisive = Pick<AccessRow, "scope" | "ticket" | "about" | "reachesGone">;

export function expectedFor(row: Decisive, caller: Caller, kind: Kind): Verdict {
  const isGone = kind === "deleted" || kind === "expired";
  if (caller.startsWith("ticket")) {
    const isPermitted = row.ticket === "read" || (row.ticket === "write" && caller === "ticket to write");
    if (!isPermitted || (kind !== "own" && !isGone)) return "denied";
    // A ticket makes no sessions.
    if (isGone) return row.about === "id" ? "denied" : "hidden";
    return "admitted";
  }
  if (SCOPES.indexOf(SCOPE_OF[caller] as string) < SCOPES.indexOf(row.scope)) return "denied";
  const isHidden = isGone || (caller.startsWith("bound") && kind !== "own");
  if (row.about === "session" && !row.reachesGone) return isHidden ? "hidden" : "admitted";
  return row.about === "id" && isHidden && !isGone ? "taken" : "admitted";
}

/** What an outcome shows. Undefined when it shows none of these. */
export function verdictOf(outcome: { readonly code: string; readonly message: string } | undefined): Verdict | string {
  if (outcome === undefined) return "admitted";
  const { code, message } = outcome;
  if (code === "permission_denied") return "denied";
  if (code === "not_found") return /^Session "/.test(message) ? "hidden" : "admitted";
  if (code === "already_exists" && message.endsWith("exists and was not made by this call")) return "taken";
  return ["already_exists", "failed_precondition", "aborted"].includes(code) ? "admitted" : `${code}: ${message}`;
}
