import type { DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { API_METHODS } from "../../src/api/method-table.js";
import { AccessBed, CALLERS, type Caller, KINDS, type Kind, type Subject } from "./access/bed.js";
import { expectedFor, verdictOf } from "./access/expected.js";
import { ACCESS_ROWS, type AccessRow } from "./access/rows.js";
import { type Front, openFronts } from "./table/fronts.js";
import type { Rpc } from "./table/row.js";

const METHODS = new Map(API_METHODS.map((method) => [nameOf(method.desc), method]));

/** Every request, under the name of its RPC and what is special about it. */
const REQUESTS = Object.entries(ACCESS_ROWS).flatMap(([rpc, rows]) =>
  [rows].flat().map((row: AccessRow) => ({ rpc: rpc as Rpc, row, what: `${rpc} ${row.what ?? ""}`.trim() })),
);

/** Fronts whose calls go the same way as others' are left out, and SQLite gets only one of each kind. */
const FRONTS = {
  memory: [
    ...["grpc-js", "grpc-js on the HTTP port", "Connect JSON", "Connect binary"],
    ...["Connect GET", "gRPC-Web", "REST"],
  ],
  SQLite: ["grpc-js", "REST"],
} as const;

it("has a row for every RPC, which repeats what the table of methods says", () => {
  expect(Object.keys(ACCESS_ROWS).sort()).toEqual([...METHODS.keys()].sort());
  for (const [rpc, rows] of Object.entries(ACCESS_ROWS)) {
    const [row] = [rows].flat() as [AccessRow];
    const { scope, ticket } = METHODS.get(rpc as Rpc) ?? {};
    // A search of one session is permitted by tickets, and one of all is refused by what it names.
    expect({ rpc, scope: row.scope, ticket: row.ticket }).toEqual({ rpc, scope, ticket });
  }
});

describe.each(["memory", "SQLite"] as const)("every RPC, caller and kind of session on %s", (store) => {
  let bed: AccessBed;
  let fronts: readonly Front[];
  let subjects: Readonly<Record<Kind, Subject>>;
  /** Another session of the owner, and one without an owner, for requests that name two. */
  let own: Subject;
  let spare: Subject;

  beforeAll(async () => {
    bed = await AccessBed.start(store);
    const { grpcAddress, httpUrl } = bed.server;
    fronts = openFronts({ grpcAddress, httpUrl });
    const made = await Promise.all(KINDS.map(async (kind) => [kind, await bed.make(kind)] as const));
    subjects = Object.fromEntries(made) as typeof subjects;
    [own, spare] = [await bed.make("own"), await bed.make("ownerless")];
  });

  afterAll(async () => {
    for (const front of fronts) front.close();
    await bed.stop();
  });

  it.each(FRONTS[store])("%s", async (name) => {
    const front = fronts.find((one) => one.name === name) as Front;
    const wrong: string[] = [];
    for (const { rpc, row, what } of REQUESTS) {
      const { desc } = METHODS.get(rpc) as { readonly desc: DescMethod };
      if (!front.serves(desc)) continue;
      const kinds = row.about === "session" || row.about === "id" ? KINDS : KINDS.slice(0, 1);
      const calls = CALLERS.flatMap((caller) => kinds.map((kind) => callBy(front, desc, row, caller, kind)));
      for (const problem of await Promise.all(calls)) if (problem !== null) wrong.push(`${what}: ${problem}`);
    }
    expect(wrong).toEqual([]);
  });

  /** Makes one call. Resolves to what is wrong with its outcome; null for nothing. */
  async function callBy(front: Front, desc: DescMethod, row: AccessRow, caller: Caller, kind: Kind) {
    const isGone = kind === "deleted" || kind === "expired";
    // A session with the id of one that is gone may be made, and would take its place.
    if (row.about === "id" && isGone) return null;
    const expected = expectedFor(row, caller, kind);
    const subject =
      row.isDestructive && expected === "admitted" && !isGone ? await bed.make(kind) : (subjects[kind] as Subject);
    const isLimited = caller.startsWith("bound") || caller.startsWith("ticket");
    const others = { own: (isLimited ? own : spare).sessionId, fresh: bed.fresh() };
    const key = bed.credentialOf(caller, kind, subject, subjects.own);
    const outcome = await front.call(desc, row.request(subject.sessionId, others), { key, take: 1 });
    const verdict = verdictOf("error" in outcome ? outcome.error : undefined);
    const text = JSON.stringify(outcome);
    if (verdict !== expected) return `${caller}, ${kind}: ${expected} was expected, but got ${verdict}: ${text}`;
    const secrets = [subjects["another's"].secret, subjects.ownerless.secret, spare.secret, subjects.deleted.secret];
    const shown = isLimited ? secrets.find((secret) => text.includes(secret)) : undefined;
    return shown === undefined ? null : `${caller}, ${kind}: ${shown} is shown: ${text}`;
  }
});

function nameOf({ parent, name }: DescMethod): Rpc {
  return `${parent.name as `${string}Service`}.${name}`;
}
