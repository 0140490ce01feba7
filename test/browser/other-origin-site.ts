import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const SCRIPT = fileURLToPath(new URL("./other-origin-page.ts", import.meta.url));

/** Serves a page of another origin than a server of this service, which has the functions of `other-origin-page.ts`. */
export async function serveScript(): Promise<Server> {
  const { outputFiles } = await build({ entryPoints: [SCRIPT], bundle: true, write: false, format: "iife" });
  const script = outputFiles[0]!.text;
  const site = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><link rel="icon" href="data:,"><script src="/page.js"></script>');
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  return site;
}
