import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createFileRegistry, type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

export const PROTO = fileURLToPath(new URL("./kinds.proto", import.meta.url));
const BUF = fileURLToPath(new URL("../../../node_modules/.bin/buf", import.meta.url));

/** The descriptors of `kinds.proto`, which buf compiles on its own. */
const image = execFileSync(BUF, ["build", `${PROTO}#include_package_files=false`, "-o", "-#format=binpb"]);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
export const KINDS = registry.getMessage("test.kinds.Kinds") as DescMessage;
