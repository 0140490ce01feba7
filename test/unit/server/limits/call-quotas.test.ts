import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { Quotas } from "../../../../src/domain/quotas.js";
import type { Principal } from "../../../../src/server/auth/principal.js";
import { CallQuotas } from "../../../../src/server/limits/call-quotas.js";

const KEY: Principal = { name: "backend", namespace: "a", scope: "write" };
const ADA: Principal = { ...KEY, access: { owner: "ada" } };
const BEN: Principal = { ...KEY, access: { owner: "ben" } };
const TICKET: Principal = {
  ...KEY,
  name: "a ticket",
  access: { ticket: { sessionId: "s", uid: "u", generation: 0 } },
};

function quotasAt(quotas: Quotas, hasKeys = true) {
  const clock = { ms: 500_250 };
  return { clock, calls: new CallQuotas(quotas, { hasKeys, clockMs: () => clock.ms }) };
}

/** How many calls are accepted before one is refused, and the refusal. */
function callUntilRefused(calls: CallQuotas, principal: Principal) {
  for (let taken = 0; taken < 1000; taken++) {
    try {
      calls.take(principal);
    } catch (error) {
      return { taken, error };
    }
  }
  return { taken: 1000, error: undefined };
}

describe("a quota of calls a minute", () => {
  it("counts a token apart from a key of the same name", () => {
    const { calls } = quotasAt({ key: { callsPerMinute: 3 } });
    expect(callUntilRefused(calls, { ...KEY, id: "token backend" }).taken).toBe(3);
    expect(callUntilRefused(calls, KEY).taken).toBe(3);
  });

  it.each([
    ["owner", ADA, 'The owner "ada"'],
    ["key", KEY, 'The key "backend"'],
    ["key", TICKET, "The ticket"],
    ["namespace", KEY, 'The namespace "a"'],
  ] as const)("refuses further calls of its %s, and says when one may begin", (holder, principal, subject) => {
    const { calls, clock } = quotasAt({ [holder]: { callsPerMinute: 3 } });
    const { taken, error } = callUntilRefused(calls, principal);
    expect(taken).toBe(3);
    const flag = `--quota-${holder}-calls-per-minute`;
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      message: `${subject} has made 3 calls within a minute; ${flag} allows 3; try again in 60 s`,
      retryAfterS: 60,
      quota: `${holder}-calls-per-minute`,
    });
    clock.ms += 59_000;
    expect(callUntilRefused(calls, principal)).toMatchObject({ taken: 0, error: { retryAfterS: 1 } });
    clock.ms += 1000;
    expect(callUntilRefused(calls, principal).taken).toBe(3);
  });

  it("frees the room of each second when that is a minute ago, and counts no refused call", () => {
    const { calls, clock } = quotasAt({ key: { callsPerMinute: 5 } });
    for (let i = 0; i < 4; i++) {
      calls.take(KEY);
      clock.ms += 10_000;
    }
    expect(callUntilRefused(calls, KEY)).toMatchObject({ taken: 1, error: { retryAfterS: 20 } });
    clock.ms += 20_000;
    expect(callUntilRefused(calls, KEY)).toMatchObject({ taken: 1, error: { retryAfterS: 10 } });
    clock.ms += 3_600_000;
    expect(callUntilRefused(calls, KEY).taken).toBe(5);
  });

  it("keeps the callers of other owners, keys and namespaces apart", () => {
    const { calls } = quotasAt({ owner: { callsPerMinute: 1 }, key: { callsPerMinute: 4 } });
    expect(callUntilRefused(calls, ADA).taken).toBe(1);
    expect(callUntilRefused(calls, BEN).taken).toBe(1);
    expect(callUntilRefused(calls, { ...ADA, namespace: "b" }).taken).toBe(1);
    expect(callUntilRefused(calls, KEY)).toMatchObject({ taken: 2, error: { quota: "key-calls-per-minute" } });
    expect(callUntilRefused(calls, { ...KEY, namespace: "b" }).taken).toBe(3);
    expect(callUntilRefused(calls, { ...KEY, name: "other" }).taken).toBe(4);
  });

  it("counts a call that one quota refuses towards no other", () => {
    const { calls } = quotasAt({ owner: { callsPerMinute: 1 }, namespace: { callsPerMinute: 2 } });
    expect(callUntilRefused(calls, ADA).taken).toBe(1);
    expect(callUntilRefused(calls, ADA).taken).toBe(0);
    expect(callUntilRefused(calls, BEN).taken).toBe(1);
    expect(callUntilRefused(calls, BEN)).toMatchObject({ error: { quota: "owner-calls-per-minute" } });
    expect(callUntilRefused(calls, KEY)).toMatchObject({ taken: 0, error: { quota: "namespace-calls-per-minute" } });
  });

  it("applies to the namespace alone on a server without keys, where all callers are one", () => {
    const { calls } = quotasAt({ key: { callsPerMinute: 1 }, namespace: { callsPerMinute: 3 } }, false);
    expect(callUntilRefused(calls, KEY)).toMatchObject({ taken: 3, error: { quota: "namespace-calls-per-minute" } });
  });

  it("limits nothing when it is not set", () => {
    expect(callUntilRefused(quotasAt({ owner: { sessions: 1 } }).calls, ADA).taken).toBe(1000);
  });
});
