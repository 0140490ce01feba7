import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { RequestFacts } from "../auth/principal.js";
import type { CallPipeline } from "../call/front-call.js";
import type { Logger } from "../logging.js";
import { chooseEncoding, compress, type Encoding, MIN_COMPRESSED_BYTES } from "./compression.js";
import type { HttpRequest, HttpResponse } from "./exchange.js";
import { hearErrors } from "./listener.js";
import { HttpProblem, toProblem } from "./problem.js";
import { factsOf } from "./request-facts.js";
import { abandonUnread, endWhenSent, sendProblem, writeHead } from "./respond.js";

export interface StaticAnswer {
  readonly status?: number;
  readonly contentType: string;
  readonly text: string;
}

type KeyChecks = Pick<CallPipeline, "authenticate" | "refused">;

type Answer = () => Promise<StaticAnswer> | StaticAnswer;

interface Route {
  readonly answer: Answer;
  /** Whether caches may keep it for everybody, and ask each time whether it is still the same. */
  readonly isPage?: boolean;
  readonly pipeline?: KeyChecks;
  /** What it answered last. */
  last?: Prepared;
}

const UNBOUND = "a key or token that opens a whole namespace: it tells of all sessions";

/** Paths that are not part of the API; each answers GET and HEAD. */
export class StaticRoutes {
  readonly #routes = new Map<string, Route>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a path that answers everyone. */
  add(path: string, answer: Answer): this {
    this.#routes.set(path, { answer });
    return this;
  }

  /** Adds a path that answers everyone with the same text, until there is a new version of the program. */
  addPage(path: string, answer: Answer): this {
    this.#routes.set(path, { answer, isPage: true });
    return this;
  }

  /** Adds a path that answers callers who see a whole namespace, whatever their scope. */
  addForKeys(path: string, pipeline: KeyChecks, answer: Answer): this {
    this.#routes.set(path, { answer, pipeline });
    return this;
  }

  /** Returns whether the path is one of these, in which case the request has been answered. Never throws. */
  serve(
    path: string,
    request: HttpRequest,
    response: HttpResponse,
    pipeline: Pick<CallPipeline, "admitAnyone">,
  ): boolean {
    const route = this.#routes.get(path);
    if (route === undefined) return false;
    hearErrors(request, response);
    this.#answer(
      async () => {
        if (route.pipeline !== undefined) await checkUnbound(path, route.pipeline, factsOf(request));
        const answer = await route.answer();
        // Anybody may ask for a page again and again: one that stays the same is compressed once.
        if (route.last === undefined || !route.last.isOf(answer))
          route.last = new Prepared(answer, route.isPage ?? false);
        return route.last;
      },
      request,
      response,
      pipeline,
    ).catch((error: unknown) => {
      const problem = toProblem(error);
      if (problem.code === Code.Internal) this.#logger.error({ err: error }, "A page failed unexpectedly");
      sendProblem(request, response, problem);
    });
    return true;
  }

  async #answer(
    prepare: () => Promise<Prepared>,
    request: HttpRequest,
    response: HttpResponse,
    pipeline: Pick<CallPipeline, "admitAnyone">,
  ): Promise<void> {
    const allow = "GET, HEAD, OPTIONS";
    const out = response as ServerResponse;
    if (request.method === "OPTIONS") {
      writeHead(response, 204, { allow });
      out.end();
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new HttpProblem(Code.Unimplemented, `${request.method} is not allowed here: ${allow}`, {
        status: 405,
        headers: { allow },
      });
    }
    const prepared = await prepare();
    const { status = 200, contentType, text } = prepared.answer;
    const admission = pipeline.admitAnyone("page", undefined);
    endWhenSent(admission, response);
    admission.hold(text.length);
    const { tag, isPage } = prepared;
    const headers = {
      ...SAFE_HEADERS,
      ...(isPage && { "cache-control": "no-cache" }),
      "content-type": contentType,
      etag: tag,
      vary: "Accept-Encoding",
    };
    const { header } = factsOf(request);
    if (status === 200 && namesTag(header("if-none-match"), tag)) {
      writeHead(response, 304, headers);
      out.end();
      return;
    }
    const encoding = text.length < MIN_COMPRESSED_BYTES ? undefined : chooseEncoding(header("accept-encoding"));
    const body = encoding === undefined ? Buffer.from(text) : await prepared.compressed(encoding);
    const encoded = encoding === undefined ? {} : { "content-encoding": encoding };
    writeHead(response, status, { ...headers, ...encoded, "content-length": body.length });
    out.end(request.method === "HEAD" ? undefined : body);
    abandonUnread(response);
  }
}

async function checkUnbound(path: string, pipeline: KeyChecks, facts: RequestFacts): Promise<void> {
  const { access } = await pipeline.authenticate(facts);
  if (access === undefined) return;
  const error = new ApiError(Code.PermissionDenied, `${path} needs ${UNBOUND}`);
  pipeline.refused(facts, error);
  throw error;
}

/** An answer, with what is made of its text. */
class Prepared {
  readonly answer: StaticAnswer;
  readonly isPage: boolean;
  readonly tag: string;
  readonly #compressed = new Map<Encoding, Promise<Buffer>>();

  constructor(answer: StaticAnswer, isPage: boolean) {
    this.answer = answer;
    this.isPage = isPage;
    this.tag = tagOf(answer.text);
  }

  isOf({ text, status }: StaticAnswer): boolean {
    return text === this.answer.text && status === this.answer.status;
  }

  compressed(encoding: Encoding): Promise<Buffer> {
    const made = this.#compressed.get(encoding) ?? compress(Buffer.from(this.answer.text), encoding);
    this.#compressed.set(encoding, made);
    made.catch(() => this.#compressed.delete(encoding));
    return made;
  }
}

/** Identifies a content, whatever its encoding, so that a browser that has it already need not load it again. */
function tagOf(text: string): string {
  return `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}

/** Whether the value of If-None-Match is `*` or has the tag in its list. Tags are compared weakly, as RFC 9110 says. */
export function namesTag(list: string | undefined, tag: string): boolean {
  const tags = (list ?? "").split(",").map((one) => one.trim());
  return tags.some((one) => one === "*" || one.replace(/^W\//, "") === tag.replace(/^W\//, ""));
}

/** The pages load nothing from elsewhere, and no other page may frame them. */
const SAFE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};
