import { readFileSync } from "node:fs";

/** Of the package; the bundle lies as deep as this file. */
export const VERSION = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;
