import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../../src/api/api-error.js";
import { API_METHODS, type ApiMethod } from "../../../../src/api/method-table.js";
import { DEFAULT_SERVER_LIMITS } from "../../../../src/config/config.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import { RootPool } from "../../../../src/pool/root-pool.js";
import { BearerAuthenticator } from "../../../../src/server/auth/authenticator.js";
import { CheckedCallPipeline } from "../../../../src/server/call/call-pipeline.js";
import type { Arrival, FrontCall } from "../../../../src/server/call/front-call.js";
import { Metrics } from "../../../../src/server/call/metrics.js";
import type { Admission } from "../../../../src/server/limits/admissions.js";
import { createLogger } from "../../../../src/server/logging.js";
import { createOpenAiHandler } from "../../../../src/server/openai/handler.js";
import { MemoryStorageProvider } from "../../../../src/storage/memory/memory-storage-provider.js";

const PATH = "/v1/conversations";
const BODY = JSON.stringify({ items: [{ role: "user", content: "Hello" }] });

describe("a conversation whose items could not be stored is deleted", () => {
  let rootPool: RootPool;
  let pipeline: HookedPipeline;
  let server: Server;

  beforeEach(async () => {
    rootPool = new RootPool({ storage: new MemoryStorageProvider() });
    pipeline = HookedPipeline.over(rootPool);
    const handle = createOpenAiHandler({ methods: API_METHODS, pipeline });
    server = createServer((request, response) => handle(request.url ?? "", request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
  });

  afterEach(async () => {
    server.close();
    await rootPool.close();
  });

  const post = () => {
    const { port } = server.address() as AddressInfo;
    const headers = { "content-type": "application/json" };
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: PATH, headers, agent: false });
    request.end(BODY);
    return request;
  };

  it("when the client goes away after the conversation was made", async () => {
    const deleted = pipeline.whenEnded("DeleteSession");
    const request = post();
    request.on("error", () => {});
    pipeline.afterCreate = async ({ signal }) => {
      const gone = once(signal, "abort");
      request.destroy();
      await gone;
    };
    await deleted;
    expect((await rootPool.sessions.listSessions({ limit: 10 })).sessions).toEqual([]);
  });

  it("when the second call is beyond a limit", async () => {
    pipeline.afterCreate = async () => {
      pipeline.isFull = true;
    };
    const [response] = await once(post(), "response");
    response.resume();
    expect(response.statusCode).toBe(429);
    expect((await rootPool.sessions.listSessions({ limit: 10 })).sessions).toEqual([]);
  });
});

/** A pipeline that tells the test where a request has got to. */
class HookedPipeline extends CheckedCallPipeline {
  /** Runs when the conversation has been made. */
  afterCreate: (call: FrontCall) => Promise<void> = async () => {};
  /** Whether further calls are refused. */
  isFull = false;
  readonly #onEnd = new Map<string, () => void>();

  static over(rootPool: RootPool): HookedPipeline {
    return new HookedPipeline({
      authenticator: new BearerAuthenticator({ keys: [] }),
      usePool: () => ({ rootPool, release: () => {} }),
      limits: DEFAULT_LIMITS,
      serverLimits: DEFAULT_SERVER_LIMITS,
      metrics: new Metrics(),
      logger: createLogger("silent"),
    });
  }

  /** Resolves when the next call of the method has ended, with or without an error. */
  whenEnded(method: string): Promise<void> {
    return new Promise((resolve) => this.#onEnd.set(method, resolve));
  }

  override admit(method: ApiMethod, arrival: Arrival): Admission {
    if (this.isFull) throw new ApiError(Code.ResourceExhausted, "The server may have no more calls");
    return super.admit(method, arrival);
  }

  override async unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message> {
    try {
      const answer = await super.unary(method, request, call);
      if (method.desc.name === "CreateSession") await this.afterCreate(call);
      return answer;
    } finally {
      this.#onEnd.get(method.desc.name)?.();
    }
  }
}
