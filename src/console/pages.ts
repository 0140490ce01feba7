import { readFileSync } from "node:fs";
import { extname } from "node:path";

/** A file of the web page. */
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

const FILES = ["api.js", "console.js", "dom.js", "lists-view.js", "session-view.js", "docs.js", "console.css"];

/** The console at `/` and the API reference at `/docs`; they load nothing from elsewhere. */
export function readPages(): readonly Page[] {
  return [
    page("/", "console.html"),
    page("/docs", "docs.html"),
    ...FILES.map((file) => page(`/console/${file}`, file)),
  ];
}

/** The build copies the folder beside the bundle. */
function page(path: string, file: string): Page {
  const contentType = CONTENT_TYPES[extname(file)] as string;
  return { path, contentType, text: readFileSync(new URL(`./assets/${file}`, import.meta.url), "utf8") };
}
