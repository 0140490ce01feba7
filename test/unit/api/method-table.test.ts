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
  "WatchSessions",
  "ListDrafts",
  "GetAttachment",
  "ListAttachments",
  "ListAnnotations",
  "SumUsage",
  "ListTodos",
];

/** The RPCs that change something, but have lines in the audit log only when they are refused. */
const UNAUDITED = ["ExtendDraft"];

/** The RPCs that need the scope admin. */
const ADMINISTERS = ["EraseMessage"];

describe("API_METHODS", () => {
  it("holds every RPC of every service of proto/, once", () => {
    const defined = readdirSync(PROTO).flatMap((name) => rpcsOf(readFileSync(new URL(name, PROTO), "utf8")));
    const held = API_METHODS.map(({ desc }) => `${desc.parent.name}.${desc.name}`);
    expect(held.sort()).toStrictEqual(defined.sort());
  });

  it("implements each RPC as a unary call or a stream of one side, as the proto defines it", () => {
    for (const { desc, unary, stream, upload } of API_METHODS) {
      expect(
        [unary, stream, upload].map((one) => one !== undefined),
        desc.name,
      ).toStrictEqual([
        desc.methodKind === "unary",
        desc.methodKind === "server_streaming",
        desc.methodKind === "client_streaming",
      ]);
    }
  });

  it("requires the scope read for reads, admin for administration, and write for everything else", () => {
    const scopes = Object.fromEntries(API_METHODS.map(({ desc, scope }) => [desc.name, scope]));
    const scopeOf = (name: string) => (READS.includes(name) ? "read" : ADMINISTERS.includes(name) ? "admin" : "write");
    const expected = Object.keys(scopes).map((name) => [name, scopeOf(name)]);
    expect(scopes).toStrictEqual(Object.fromEntries(expected));
  });

  it("has every RPC in the audit log but those that read, and deltas of drafts", () => {
    const left = API_METHODS.filter(({ isAudited }) => !isAudited).map(({ desc }) => desc.name);
    const reads = API_METHODS.filter(({ scope }) => scope === "read").map(({ desc }) => desc.name);
    expect(left.sort()).toEqual([...reads, ...UNAUDITED].sort());
  });

  it("agrees with the descriptors about what is free of side effects", () => {
    for (const { desc, scope } of API_METHODS) {
      if (desc.idempotency === 1) expect(scope, desc.name).toBe("read");
    }
    expect(API_METHODS.filter(({ desc }) => desc.idempotency === 1)).toHaveLength(READS.length - 2);
  });

  it("serves TodoTrackerService on the gRPC port only", () => {
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
