import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/toolchain.js";

const MOST_BYTES = 40 * 1024;

describe("the client in a browser's bundle", () => {
  it("is at most 40 KB, gzipped, and contains nothing of the server", async () => {
    const { outputFiles, metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: ["clients/typescript/src/index.ts"],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      write: false,
      metafile: true,
    });
    const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
    console.info(`The client's bundle: ${bytes} bytes, gzipped`);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
    const own = Object.keys(metafile.inputs).filter((path) => !path.startsWith("node_modules/"));
    expect(own.filter((path) => !/^(gen|clients\/typescript\/src)\//.test(path))).toEqual([]);
  });
});
