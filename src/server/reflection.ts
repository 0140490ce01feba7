import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { ReflectionService } from "@grpc/reflection";
import { Health } from "../../gen/health/v1/health_pb.js";

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Serves the descriptors of the services and of health (`grpc.reflection.v1` and `v1alpha`), with all files they import. */
export function addReflection(
  server: Parameters<ReflectionService["addToServer"]>[0],
  services: readonly DescService[],
): void {
  const all = [...services, Health];
  const files = new Set<DescFile>();
  for (const { file } of all) addWithImports(files, file);
  const fileDescriptorProtos = [...files].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
  // The package reads nothing else of a definition.
  const definitions = { all: { fileDescriptorProtos } } as unknown as PackageDefinition;
  new ReflectionService(definitions, {
    services: all.map(({ typeName }) => typeName),
  }).addToServer(server);
}

function addWithImports(files: Set<DescFile>, file: DescFile): void {
  if (files.has(file)) return;
  for (const imported of file.dependencies) addWithImports(files, imported);
  files.add(file);
}
