import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cached, install, needPrograms, PROTO_FOLDER } from "../support/toolchain.js";

const SOURCES = fileURLToPath(new URL("./java", import.meta.url));

/** Builds the scenario's client with grpc-java and stubs of proto/; resolves to its class path. */
export async function prepareJava(): Promise<string> {
  needPrograms("java", "javac", "mvn");
  const built = await cached("java-client", [SOURCES, PROTO_FOLDER], async (folder) => {
    const folders = [`-DprotoFolder=${PROTO_FOLDER}`, `-DbuildFolder=${folder}`];
    await install("mvn", ["--batch-mode", "--quiet", "--file", join(SOURCES, "pom.xml"), "compile", ...folders]);
  });
  return `${join(built, "classes")}:${join(built, "jars", "*")}`;
}
