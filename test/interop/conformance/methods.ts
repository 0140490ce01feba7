/**
 * Replaces src/api/method-table.ts in the conformance server. Lists the methods of ConformanceService of the kinds
 * that the API has: unary, or a stream of one side.
 */
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { ApiMethod } from "../../../src/api/api-method.js";

export const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(process.env.CONFORMANCE_DESCRIPTORS ?? "")),
);

const SERVED = ["Unary", "ServerStream", "ClientStream", "IdempotentUnary"];
const KINDS = { unary: "unary", server_streaming: "stream", client_streaming: "upload" } as const;

/**
 * The methods that are served. The method Unimplemented is missing on purpose, because the runner expects it to be
 * unknown.
 */
export const API_METHODS: readonly ApiMethod[] = registry
  .getService("connectrpc.conformance.v1.ConformanceService")!
  .methods.filter(({ name }) => SERVED.includes(name))
  .map((desc) => {
    return {
      desc,
      scope: "read",
      ticket: "none",
      grpcOnly: false,
      isAudited: false,
      [KINDS[desc.methodKind as keyof typeof KINDS]]: () => Promise.reject(new Error("The pipeline answers")),
    };
  });
