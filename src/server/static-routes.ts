import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { type HttpRequest, type HttpResponse, hearErrors } from "./http-listener.js";
import type { Logger } from "./logging.js";
import { HttpProblem, toProblem } from "./rest/problem.js";
import { sendProblem } from "./rest/respond.js";

export interface StaticAnswer {
  readonly status?: number;
  readonly contentType: string;
  readonly text: string;
}

/** Paths that are no API: each answers GET and HEAD, without a key. */
export class StaticRoutes {
  readonly #routes = new Map<string, () => Promise<StaticAnswer> | StaticAnswer>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(path: string, answer: () => Promise<StaticAnswer> | StaticAnswer): this {
    this.#routes.set(path, answer);
    return this;
  }

  /** Returns whether the path is one of them; then the request is answered. Never throws. */
  serve(path: string, request: HttpRequest, response: HttpResponse): boolean {
    const answer = this.#routes.get(path);
    if (answer === undefined) return false;
    hearErrors(request, response);
    this.#answer(answer, request, response).catch((error: unknown) => {
      if (!(error instanceof HttpProblem)) this.#logger.error({ err: error }, "A page failed unexpectedly");
      sendProblem(request, response, toProblem(error));
    });
    return true;
  }

  async #answer(
    answer: () => Promise<StaticAnswer> | StaticAnswer,
    request: HttpRequest,
    response: HttpResponse,
  ): Promise<void> {
    const allow = "GET, HEAD, OPTIONS";
    const out = response as ServerResponse;
    if (request.method === "OPTIONS") {
      out.writeHead(204, { allow }).end();
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new HttpProblem(Code.Unimplemented, `${request.method} is not allowed here: ${allow}`, {
        status: 405,
        headers: { allow },
      });
    }
    const { status = 200, contentType, text } = await answer();
    const headers = { ...SAFE_HEADERS, "content-type": contentType, "content-length": Buffer.byteLength(text) };
    out.writeHead(status, headers).end(request.method === "HEAD" ? undefined : text);
  }
}

/** The pages load nothing from elsewhere, and nothing may put them into a frame. */
const SAFE_HEADERS = {
  "cache-control": "no-cache",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};
