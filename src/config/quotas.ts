import type { Option } from "commander";
import { QUOTA_HOLDERS, QUOTA_KINDS, type Quota, type QuotaHolder, type Quotas, quotaName } from "../domain/quotas.js";
import { camel, type Flags, flag, positive } from "./flags.js";

const TEXTS: Record<keyof Quota, string> = {
  sessions: "sessions",
  bytes: "bytes of stored messages",
  callsPerMinute: "calls a minute to one process",
};

/** The flags of quotas, none of which applies unless it is given. */
export function quotaFlags(): Option[] {
  return QUOTA_HOLDERS.flatMap((holder) =>
    QUOTA_KINDS.map((kind) =>
      flag(`--quota-${quotaName(holder, kind)} <n>`, `quota of each ${holder}: ${TEXTS[kind]}`).argParser(positive),
    ),
  );
}

export function readQuotas(flags: Flags): Quotas {
  return Object.fromEntries(QUOTA_HOLDERS.map((holder) => [holder, quotaOf(holder, flags)]));
}

function quotaOf(holder: QuotaHolder, flags: Flags): Quota {
  return Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, flags[camel(`quota-${quotaName(holder, kind)}`)]]));
}
