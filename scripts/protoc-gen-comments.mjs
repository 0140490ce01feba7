#!/usr/bin/env node
// Writes gen/comments.ts, which maps full names to the comments of the .proto files. Generated descriptors have no
// comments.
import { createEcmaScriptPlugin, getComments, runNodeJs } from "@bufbuild/protoplugin";

/** Everything in a file that can have a comment, with its name in the map. */
function* commented(file) {
  for (const service of file.services) {
    yield [service.typeName, service];
    for (const method of service.methods) yield [`${service.typeName}.${method.name}`, method];
  }
  for (const message of file.messages) yield* commentedMessage(message);
}

function* commentedMessage(message) {
  yield [message.typeName, message];
  for (const field of message.fields) yield [`${message.typeName}.${field.name}`, field];
  for (const nested of message.nestedMessages) yield* commentedMessage(nested);
}

/** Removes the space that follows each `//`. */
function textOf(desc) {
  const { leading, trailing } = getComments(desc);
  return (leading ?? trailing ?? "").replace(/^ /gm, "").trim();
}

function generateTs(schema) {
  const comments = schema.files
    .filter((file) => file.proto.package.startsWith("sessionpool."))
    .flatMap((file) => [...commented(file)])
    .map(([name, desc]) => [name, textOf(desc)])
    .filter(([, text]) => text !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const output = schema.generateFile("comments.ts");
  output.print("// Comments of the .proto files, by the full name of what they are about.");
  output.print("export const comments: Readonly<Record<string, string>> = {");
  for (const [name, text] of comments) output.print(`  ${JSON.stringify(name)}: ${JSON.stringify(text)},`);
  output.print("};");
}

runNodeJs(createEcmaScriptPlugin({ name: "protoc-gen-comments", version: "1", generateTs }));
