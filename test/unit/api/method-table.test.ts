import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { API_METHODS } from "../../../src/api/method-table.js";

const PROTO = new URL("../../../proto/sessionpool/v1/", import.meta.url);

const READS = [
  "GetSession",
  "LoadSession",
  "ListSessions",
  "GetMessage",
  "ListMessages",
  "SearchMessages",
  "CountMessages",
  "WatchMessages",
  "ListDrafts",
  "ListTodos",
];

/** What reaches beyond one session's ordinary calls. */
const ADMINISTERS = ["EraseMessage"];

describe("API_METHODS", () => {
  it("holds every RPC of every service of proto/, once", () => {
    const defined = readdirSync(PROTO).flatMap((name) => rpcsOf(readFileSync(new URL(name, PROTO), "utf8")));
    const held = API_METHODS.map(({ desc }) => `${desc.parent.name}.${desc.name}`);
    expect(held.sort()).toStrictEqual(defined.sort());
  });

  it("answers each in its own way", () => {
    for (const { desc, unary, stream } of API_METHODS) {
      expect([unary !== undefined, stream !== undefined], desc.name).toStrictEqual([
        desc.methodKind === "unary",
        desc.methodKind === "server_streaming",
      ]);
    }
  });

  it("lets no key with the scope read change anything, and none with write administer", () => {
    const scopes = Object.fromEntries(API_METHODS.map(({ desc, scope }) => [desc.name, scope]));
    const scopeOf = (name: string) => (READS.includes(name) ? "read" : ADMINISTERS.includes(name) ? "admin" : "write");
    const expected = Object.keys(scopes).map((name) => [name, scopeOf(name)]);
    expect(scopes).toStrictEqual(Object.fromEntries(expected));
  });

  it("agrees with the descriptors about what is free of side effects", () => {
    for (const { desc, scope } of API_METHODS) {
      if (desc.idempotency === 1) expect(scope, desc.name).toBe("read");
    }
    expect(API_METHODS.filter(({ desc }) => desc.idempotency === 1)).toHaveLength(READS.length - 1);
  });

  it("keeps TodoTrackerService to the gRPC port", () => {
    const services = API_METHODS.filter(({ grpcOnly }) => grpcOnly).map(({ desc }) => desc.parent.name);
    expect([...new Set(services)]).toStrictEqual(["TodoTrackerService"]);
  });
});

function rpcsOf(proto: string): string[] {
  return proto
    .split(/^service /m)
    .slice(1)
    .flatMap((service) =>
      [...service.matchAll(/^ {2}rpc (\w+)/gm)].map(([, rpc]) => `${service.split(" ")[0]}.${rpc}`),
    );
}
