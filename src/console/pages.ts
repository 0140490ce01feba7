import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";

/** A file of the web page. Its text is read when it is first asked for. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly text: string;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const FILES = {
  "/": "console.html",
  "/docs": "docs.html",
  "/console/console.js": "console.js",
  "/console/docs.js": "docs.js",
  "/console/console.css": "console.css",
  "/console/docs.css": "docs.css",
};

/** Names of the files that the console loads when they are needed. */
const PIECE = /^piece-[\w-]+\.js$/;

/** Where the build puts the web page: beside the bundle. */
const BUILT = new URL("./assets/", import.meta.url);

/** The console at `/` and the API reference at `/docs`, as `buildConsole` made them. They load nothing else. */
export function readPages(folder?: string): readonly Page[] {
  const base = folder === undefined ? BUILT : pathToFileURL(`${folder}/`);
  // The source runs without a built page, too.
  const built = existsSync(base) ? readdirSync(base) : [];
  const pieces = built.filter((file) => PIECE.test(file));
  const files = [...Object.entries(FILES), ...pieces.map((file) => [`/console/${file}`, file] as const)];
  return files.map(([path, file]) => makePage(path, new URL(file, base)));
}

/**
 * Marks the console's page, so that it offers to search messages, and says whether only texts are searched. The other
 * pages stay as they are.
 */
export function withSearch(pages: readonly Page[], searchesAll: boolean): readonly Page[] {
  return marked(pages, `data-search="${searchesAll ? "all" : "text"}"`);
}

/** Says in the console's page for how many days deleted sessions can be brought back. */
export function withBin(pages: readonly Page[], days: number): readonly Page[] {
  return days > 0 ? marked(pages, `data-bin="${days}"`) : pages;
}

function marked(pages: readonly Page[], attribute: string): readonly Page[] {
  return pages.map((page) => {
    if (page.path !== "/") return page;
    const { path, contentType } = page;
    return {
      path,
      contentType,
      get text() {
        return page.text.replace("<html ", `<html ${attribute} `);
      },
    };
  });
}

function makePage(path: string, file: URL): Page {
  let text: string | undefined;
  return {
    path,
    contentType: CONTENT_TYPES[extname(file.pathname)] as string,
    get text() {
      text ??= readFileSync(file, "utf8");
      return text;
    },
  };
}
