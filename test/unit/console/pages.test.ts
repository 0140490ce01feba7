import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { builtPages } from "../../support/console-pages.js";

const pages = await builtPages();
const textOf = (path: string) => pages.find((page) => page.path === path)!.text;
const zipped = (paths: readonly string[]) =>
  paths.map((path) => gzipSync(textOf(path)).length).reduce((sum, size) => sum + size, 0);
/** What the page loads at first, as its HTML says. */
const FIRST_VIEW = [
  "/",
  ...[...textOf("/").matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map(([, path]) => `/${path}`),
];

it("the console's first view takes 120 KB at most, gzipped, and needs nothing that its HTML does not name", () => {
  expect(zipped(FIRST_VIEW)).toBeLessThanOrEqual(120 * 1024);
  const scripts = FIRST_VIEW.filter((path) => path.endsWith(".js"));
  const imported = scripts.flatMap((path) =>
    [...textOf(path).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, file]) => `/console/${file}`),
  );
  expect(imported.filter((path) => !FIRST_VIEW.includes(path))).toEqual([]);
});

it("the pages with tables and plots take 120 KB at most, gzipped", () => {
  const paths = pages.map(({ path }) => path);
  const later = ["pages", "plotting"].flatMap((name) => paths.filter((path) => path.includes(`piece-${name}-`)));
  expect(later.length).toBe(2);
  expect(zipped(later)).toBeLessThanOrEqual(120 * 1024);
});
