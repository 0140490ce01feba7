import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { allBlocks, type Block, TUTORIALS } from "../docs/blocks.js";
import { ROOT } from "../support/toolchain.js";

const blocks = allBlocks().filter(({ page }) => !page.startsWith(TUTORIALS));

/** Returns all blocks of the pages in a language, but for the tutorials. */
export function allDocumented(language: string): readonly Block[] {
  return blocks.filter((block) => block.language === language);
}

/**
 * Returns the one block of the pages in a language that contains this text. Both arguments must be literals, because
 * test/docs/code-blocks.test.ts looks for these calls to find the blocks that no test uses.
 */
export function documentedProgram(language: string, text: string): string {
  const found = allDocumented(language).filter((block) => block.text.includes(text));
  if (found.length !== 1) throw new Error(`The pages have ${found.length} blocks of ${language} with ${text}`);
  return (found[0] as Block).text;
}

/** Returns the output that a program promises, which is the text after each arrow. */
export function promisedLines(program: string): readonly string[] {
  return [...program.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => line as string);
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
