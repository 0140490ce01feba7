import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DescService } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createSessionPoolClient, type SessionPoolClient } from "../../clients/typescript/src/index.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { PYTHON_CLIENT, preparePythonClient } from "./python.js";

/** Where the client for TypeScript has each service. */
const SERVICES: Readonly<Record<string, keyof SessionPoolClient>> = {
  AnnotationService: "annotations",
  AttachmentService: "attachments",
  MessageService: "messages",
  SessionService: "sessions",
  TodoService: "todos",
  TodoTrackerService: "todoTracker",
  UsageService: "usage",
};

/** The fields of requests that no method of the client for Python can set, each with the reason. */
const NOT_IN_PYTHON: Readonly<Record<string, string>> = {
  "MessageService.FinishDraft deltas": "A draft writes each delta when it is given, with ExtendDraft.",
};

const services = await readServices();

async function readServices(): Promise<readonly DescService[]> {
  const folder = join(ROOT, "gen/sessionpool/v1");
  const modules = await Promise.all(readdirSync(folder).map((name) => import(pathToFileURL(join(folder, name)).href)));
  return modules.flatMap((module) => Object.values<DescService>(module).filter((one) => one.kind === "service"));
}

/** Returns what a client has to offer, such as "SessionService.GetSession session_id". */
function fieldsOfRequests(): readonly string[] {
  return services.flatMap((service) =>
    service.methods.flatMap(({ name, input }) => {
      const rpc = `${service.name}.${name}`;
      return [rpc, ...input.fields.map((field) => `${rpc} ${field.name}`)];
    }),
  );
}

describe("the client for TypeScript", () => {
  // Its methods are generated from the proto and take whole requests, so none of them can lack a field.
  it("has every RPC", () => {
    const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1" });
    for (const { name, methods } of services) {
      const service = client[SERVICES[name] as keyof SessionPoolClient];
      for (const { localName } of methods) expect(service, name).toHaveProperty(localName, expect.any(Function));
    }
  });
});

await describeWith(
  "the client for Python",
  () => preparePythonClient(),
  ({ program, env }) => {
    it.each(["SessionPoolClient", "AsyncSessionPoolClient"])("has every RPC and field, as %s", async (client) => {
      const printed = await run(program, [join(PYTHON_CLIENT, "tests/surface.py")], { env });
      const surface: Record<string, readonly string[]> = JSON.parse(printed)[client];
      const offered = Object.entries(surface).flatMap(([rpc, fields]) => [
        rpc,
        ...fields.map((one) => `${rpc} ${one}`),
      ]);
      expect([...offered, ...Object.keys(NOT_IN_PYTHON)].sort()).toEqual([...fieldsOfRequests()].sort());
    });
  },
);
