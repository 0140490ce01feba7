import {
  create,
  createFileRegistry,
  type DescFile,
  type FileRegistry,
  fromBinary,
  isFieldSet,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

/**
 * The types of the given files and everything they import, but with `bytes` in place of google.protobuf.Struct, and
 * with lists of entries in place of maps from text to scalars. They are the same on the wire and are read without loss.
 * Names stay, so that a message of one type is a message of the other.
 */
export function losslessTypes(files: Iterable<DescFile>): FileRegistry {
  const sorted = new Map<string, FileDescriptorProto>();
  for (const file of files) addWithImports(file, sorted);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...sorted.values()] }));
}

/** Imports come before the files that import them. */
function addWithImports(file: DescFile, sorted: Map<string, FileDescriptorProto>): void {
  if (sorted.has(file.proto.name)) return;
  for (const dependency of file.dependencies) addWithImports(dependency, sorted);
  if (file.proto.package.startsWith("google.")) {
    sorted.set(file.proto.name, file.proto);
    return;
  }
  const copy = fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, file.proto));
  for (const type of copy.messageType) makeLossless(type);
  sorted.set(file.proto.name, copy);
}

function makeLossless(type: DescriptorProto): void {
  for (const nested of type.nestedType) makeLossless(nested);
  for (const field of type.field) {
    if (field.typeName !== ".google.protobuf.Struct") continue;
    field.type = FieldDescriptorProto_Type.BYTES;
    field.typeName = "";
    // The field must track presence, because an empty Struct differs from an absent one. The value of a map entry is
    // always present.
    field.proto3Optional =
      type.options?.mapEntry !== true &&
      field.label !== FieldDescriptorProto_Label.REPEATED &&
      !isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  }
  if (type.options?.mapEntry && isTextToScalar(type)) type.options.mapEntry = false;
}

function isTextToScalar({ field: [key, value] }: DescriptorProto): boolean {
  // Structs have become bytes, but conversions must not treat them as scalars.
  const isScalar = value?.typeName === "" && value.type !== FieldDescriptorProto_Type.BYTES;
  return key?.type === FieldDescriptorProto_Type.STRING && isScalar;
}
