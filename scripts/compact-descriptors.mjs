// Makes the descriptors in the generated code small for the client's package. They are a third of what the package adds
// to a page, and the options in them, such as REST's paths and which fields are required, are for the server only.
import { readFile } from "node:fs/promises";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { FieldOptionsSchema, FileDescriptorProtoSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";

const GENERATED = /[\\/]gen[\\/].*_pb\.ts$/;
const DESCRIPTOR = /fileDesc\("([^"]*)"(?:, \[([^\]]*)\])?\)/;

/** A plugin for esbuild. */
export const compactDescriptors = {
  name: "compact-descriptors",
  setup({ onLoad }) {
    onLoad({ filter: GENERATED }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!DESCRIPTOR.test(source)) throw new Error(`${path} has no descriptor`);
      return { contents: source.replace(DESCRIPTOR, compact), loader: "ts" };
    });
  },
};

/** gzip finds the names that repeat in the bytes of a descriptor, but not in their base64. */
function compact(_code, base64, imports = "") {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(base64));
  file.options = undefined;
  for (const message of file.messageType) dropFromMessage(message);
  for (const { method } of file.service) for (const one of method) dropOptions(MethodOptionsSchema, one);
  const text = JSON.stringify(Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString("latin1"));
  const needed = imports.split(", ").filter((name) => !OF_OPTIONS.test(name));
  return `fileDesc(/*@__PURE__*/ btoa(${text}), [${needed.join(", ")}])`;
}

/** The imported files that describe nothing but options. */
const OF_OPTIONS = /^file_(google_api_|sessionpool_v1_options$)/;

function dropFromMessage({ field, nestedType }) {
  for (const one of field) dropOptions(FieldOptionsSchema, one);
  nestedType.forEach(dropFromMessage);
}

/** Options that protobuf itself does not define are unknown fields here. */
function dropOptions(schema, described) {
  if (described.options === undefined) return;
  delete described.options.$unknown;
  if (toBinary(schema, described.options).length === 0) described.options = undefined;
}
