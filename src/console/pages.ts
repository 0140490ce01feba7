import { readFileSync } from "node:fs";

/** A file of the web page. */
export interface Page {
  readonly path: string;
  readonly contentType: string;
  readonly text: string;
}

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** The console at `/` and the API reference at `/docs`; they load nothing from elsewhere. */
export function readPages(): readonly Page[] {
  return [
    page("/", "console.html", HTML),
    page("/docs", "docs.html", HTML),
    page("/console/console.js", "console.js", SCRIPT),
    page("/console/api.js", "api.js", SCRIPT),
    page("/console/docs.js", "docs.js", SCRIPT),
    page("/console/console.css", "console.css", STYLE),
  ];
}

/** The build copies the folder beside the bundle. */
function page(path: string, file: string, contentType: string): Page {
  return { path, contentType, text: readFileSync(new URL(`./assets/${file}`, import.meta.url), "utf8") };
}
