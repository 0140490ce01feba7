import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { ROOT } from "../support/toolchain.js";

type Language = "ts" | "tsx" | "js" | "sh" | "yaml";

/** Returns the programs of docs/clients.md in a language. */
export function documentedPrograms(language: Language): readonly string[] {
  const blocks = readFileSync(join(ROOT, "docs/clients.md"), "utf8").matchAll(/^ *```(\w+)\n(.*?)^ *```$/gms);
  return [...blocks].filter(([, of]) => of === language).map(([, , text]) => text as string);
}

/** Returns the program that contains this text. There must be exactly one. */
export function documentedProgram(language: Language, text: string): string {
  const found = documentedPrograms(language).filter((program) => program.includes(text));
  if (found.length !== 1) throw new Error(`docs/clients.md has ${found.length} programs with ${text}`);
  return found[0] as string;
}

/** Bundles programs for Node.js into a folder from which they find the packages of this project. */
export class Bundler {
  readonly folder: string;

  constructor(name: string) {
    const cache = join(ROOT, "node_modules/.cache");
    mkdirSync(cache, { recursive: true });
    this.folder = mkdtempSync(join(cache, name));
  }

  /**
   * Resolves to the path of the bundle. Imports of `session-pool/…` get the source, and `alias` replaces other
   * packages.
   */
  async bundle(name: string, contents: string, alias: Readonly<Record<string, string>> = {}): Promise<string> {
    const outfile = join(this.folder, `${name}.mjs`);
    await build({
      stdin: { contents, resolveDir: ROOT, loader: "ts" },
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      packages: "external",
      plugins: [findsPackages(alias)],
      outfile,
      logLevel: "silent",
    });
    return outfile;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function findsPackages(alias: Readonly<Record<string, string>>): Plugin {
  return {
    name: "packages",
    setup({ onResolve }) {
      onResolve({ filter: /^session-pool-client(\/|$)/ }, ({ path }) => ({
        path: `${join(ROOT, "clients/typescript/src", path.slice("session-pool-client/".length) || "index")}.ts`,
      }));
      onResolve({ filter: /^@/ }, ({ path: name }) => {
        const path = alias[name];
        return path === undefined ? null : { path, external: !path.endsWith(".ts") };
      });
    },
  };
}
