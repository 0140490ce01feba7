import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { builtPages } from "../../support/console-pages.js";

const FIRST_VIEW = ["/", "/console/console.js", "/console/console.css"];

it("the console's first view takes 250 KB at most, gzipped", async () => {
  const pages = await builtPages();
  const sizes = FIRST_VIEW.map((path) => gzipSync(pages.find((page) => page.path === path)!.text).length);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(250 * 1024);
});
