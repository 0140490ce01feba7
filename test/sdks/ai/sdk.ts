import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UIMessage, UIMessageChunk } from "ai";
import { build, type Plugin } from "esbuild";
import type * as Adapter from "../../../clients/typescript/src/adapters/ai-sdk.js";
import type * as Client from "../../../clients/typescript/src/index.js";
import { ROOT } from "../../support/toolchain.js";
import { installNewest, versionOf } from "../npm.js";
import type { ZodObject } from "./samples.js";

type Validated = { readonly success: true } | { readonly success: false; readonly error: Error };

/** A version of the AI SDK, with our adapter over it, and with the schemas of its messages. */
export interface AiSdk {
  /** As in `ai 7.0.1`. */
  readonly sdk: string;
  readonly ai: typeof import("ai");
  readonly ours: typeof Adapter & typeof Client;
  /** The schema of each part of a message, and of each chunk of a stream. */
  readonly parts: readonly ZodObject[];
  readonly chunks: readonly ZodObject[];
  validate(messages: readonly UIMessage[]): Promise<Validated>;
  isChunk(chunk: UIMessageChunk): Promise<boolean>;
}

interface Schemas {
  /** All objects of the schemas that were made until now. */
  readonly recorded: ZodObject[];
  uiMessageChunkSchema(): { validate(value: unknown): Promise<Validated> | Validated };
  safeValidateUIMessages(options: { messages: unknown }): Promise<Validated>;
}

/** Installs the newest version of a major of the AI SDK. */
export async function prepareAiSdk(major: string): Promise<AiSdk> {
  const folder = await installNewest(`ai-${major}`, [`ai@${major}`, "zod@4"]);
  // Node.js finds the packages of the folder from a folder inside it.
  const built = await mkdtemp(join(folder, "built-"));
  try {
    const ours = await load<AiSdk["ours"]>(built, "ours", OURS);
    const ai = await load<AiSdk["ai"]>(built, "ai", 'export * from "ai";');
    const schemas = await load<Schemas>(built, "schemas", schemasOf(join(folder, "node_modules/ai")), RECORDER);
    const chunkSchema = schemas.uiMessageChunkSchema();
    const chunks = schemas.recorded.splice(0);
    const validate: AiSdk["validate"] = (messages) => schemas.safeValidateUIMessages({ messages });
    await validate([{ id: "any", role: "user", parts: [{ type: "text", text: "any" }] }]);
    const isChunk = async (chunk: UIMessageChunk) => (await chunkSchema.validate(chunk)).success;
    return { sdk: `ai ${await versionOf(folder, "ai")}`, ai, ours, parts: schemas.recorded, chunks, validate, isChunk };
  } finally {
    await rm(built, { recursive: true });
  }
}

const OURS = `
export * from ${JSON.stringify(join(ROOT, "clients/typescript/src/adapters/ai-sdk.ts"))};
export * from ${JSON.stringify(join(ROOT, "clients/typescript/src/index.ts"))};`;

function schemasOf(sdk: string): string {
  return `
export { recorded } from "recorder";
export { uiMessageChunkSchema } from ${JSON.stringify(join(sdk, "src/ui-message-stream/ui-message-chunks.ts"))};
export { safeValidateUIMessages } from ${JSON.stringify(join(sdk, "src/ui/validate-ui-messages.ts"))};`;
}

async function load<T>(folder: string, name: string, contents: string, plugin?: Plugin): Promise<T> {
  const outfile = join(folder, `${name}.mjs`);
  const external = plugin === undefined ? ["ai"] : ["@ai-sdk/*"];
  const options = { bundle: true, platform: "node", format: "esm", logLevel: "error" } as const;
  const stdin = { contents, resolveDir: ROOT, sourcefile: `${name}.ts` };
  await build({ ...options, stdin, outfile, external, plugins: plugin === undefined ? [] : [plugin] });
  return (await import(pathToFileURL(outfile).href)) as T;
}

/** Puts in the place of zod one that records each schema of an object when it is made. */
const RECORDER: Plugin = {
  name: "recorder",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^recorder$/ }, () => ({ path: "recorder", namespace: "recorder" }));
    onLoad({ filter: /.*/, namespace: "recorder" }, () => ({ contents: "export const recorded = [];" }));
    onResolve({ filter: /^zod(\/|$)/ }, ({ path, namespace }) =>
      namespace === "recording" ? { path, external: true } : { path, namespace: "recording" },
    );
    onLoad({ filter: /.*/, namespace: "recording" }, ({ path }) => ({ contents: recording(path) }));
  },
};

function recording(zod: string): string {
  return `
import * as real from ${JSON.stringify(zod)};
import { recorded } from "recorder";
const recordedBy = (make) => (...args) => {
  const schema = make(...args);
  recorded.push(schema);
  return schema;
};
export * from ${JSON.stringify(zod)};
export const object = recordedBy(real.object);
export const looseObject = recordedBy(real.looseObject);
export const z = { ...real, object, looseObject };`;
}
