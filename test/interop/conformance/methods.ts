/** Stands in for src/api/method-table.ts in the conformance server: the methods of ConformanceService that this server's kinds of call can serve. */
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { ApiMethod } from "../../../src/api/api-method.js";

export const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(process.env.CONFORMANCE_DESCRIPTORS ?? "")),
);

const SERVED = ["Unary", "ServerStream", "IdempotentUnary"];

/** Unimplemented is not among them: it must not be there. */
export const API_METHODS: readonly ApiMethod[] = registry
  .getService("connectrpc.conformance.v1.ConformanceService")!
  .methods.filter(({ name }) => SERVED.includes(name))
  .map((desc) => ({ desc, scope: "read", grpcOnly: false }));
