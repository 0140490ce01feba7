import { createRequire } from "node:module";
import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server } from "@grpc/grpc-js";
import type { ReflectionService } from "@grpc/reflection";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import type { OpenMethod } from "./gate.js";
import { addLazyMethods, type ServiceTaker } from "./lazy-methods.js";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

const require = createRequire(import.meta.url);
const METHODS = ["v1", "v1alpha"].map((version) => ({
  path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
  requestStream: true,
  responseStream: true,
}));
/** Enough for the requests of one stream: grpcurl asks for fewer than a hundred symbols. */
const MAX_BYTES = 8 * 1024;
const LIFETIME_MS = 120_000;

/** The methods that the gate admits without a key. */
export const REFLECTION_METHODS: ReadonlyMap<string, OpenMethod> = new Map(
  METHODS.map(({ path }) => [path, { kind: "stream", maxBytes: MAX_BYTES, lifetimeMs: LIFETIME_MS }]),
);

/**
 * Serves the descriptors of the services and of health (`grpc.reflection.v1` and `v1alpha`), with all files that they
 * import. The package is loaded by the first call, because it brings another implementation of protobuf.
 */
export function addReflection(server: ServiceTaker, services: readonly DescService[]): void {
  addLazyMethods(server, METHODS, (taker) => reflectionOf([...services, Health]).addToServer(taker as Server));
}

function reflectionOf(services: readonly DescService[]): ReflectionService {
  const reflection = require("@grpc/reflection") as typeof import("@grpc/reflection");
  const files = new Set<DescFile>();
  for (const { file } of services) addWithImports(files, file);
  const fileDescriptorProtos = [...files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  // The package reads no other field of a definition.
  const definitions = { all: { fileDescriptorProtos } } as unknown as PackageDefinition;
  return new reflection.ReflectionService(definitions, { services: services.map(({ typeName }) => typeName) });
}

function addWithImports(files: Set<DescFile>, file: DescFile): void {
  if (files.has(file)) return;
  for (const imported of file.dependencies) addWithImports(files, imported);
  files.add(file);
}
