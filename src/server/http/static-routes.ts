import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import type { Caller } from "../front-call.js";
import type { Logger } from "../logging.js";
import { type HttpRequest, type HttpResponse, hearErrors } from "./listener.js";
import { HttpProblem, toProblem } from "./problem.js";
import { factsOf } from "./request-facts.js";
import { abandonUnread, endWhenSent, sendProblem } from "./respond.js";

export interface StaticAnswer {
  readonly status?: number;
  readonly contentType: string;
  readonly text: string;
}

type Answer = () => Promise<StaticAnswer> | StaticAnswer;

/** Paths that are no API: each answers GET and HEAD. */
export class StaticRoutes {
  readonly #routes = new Map<string, { readonly answer: Answer; readonly caller?: Pick<Caller, "authenticate"> }>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Answers whoever asks. */
  add(path: string, answer: Answer): this {
    this.#routes.set(path, { answer });
    return this;
  }

  /** Answers those whom the caller lets in: any key may read. */
  addForKeys(path: string, caller: Pick<Caller, "authenticate">, answer: Answer): this {
    this.#routes.set(path, { answer, caller });
    return this;
  }

  /** Returns whether the path is one of them; then the request is answered. Never throws. */
  serve(path: string, request: HttpRequest, response: HttpResponse, caller: Pick<Caller, "admitAnyone">): boolean {
    const route = this.#routes.get(path);
    if (route === undefined) return false;
    hearErrors(request, response);
    this.#answer(
      async () => {
        await route.caller?.authenticate(factsOf(request));
        return route.answer();
      },
      request,
      response,
      caller,
    ).catch((error: unknown) => {
      const problem = toProblem(error);
      if (problem.code === Code.Internal) this.#logger.error({ err: error }, "A page failed unexpectedly");
      sendProblem(request, response, problem);
    });
    return true;
  }

  async #answer(
    answer: Answer,
    request: HttpRequest,
    response: HttpResponse,
    caller: Pick<Caller, "admitAnyone">,
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
    const admission = caller.admitAnyone("page", undefined);
    endWhenSent(admission, response);
    admission.hold(text.length);
    const headers = { ...SAFE_HEADERS, "content-type": contentType, "content-length": Buffer.byteLength(text) };
    out.writeHead(status, headers).end(request.method === "HEAD" ? undefined : text);
    abandonUnread(response);
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
