import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { MessageService } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { DEFAULT_SERVER_LIMITS, type ServeConfig, type ServerLimits } from "../../../src/config/config.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { Pools } from "../../../src/pools.js";
import { newTicketSecret } from "../../../src/server/auth/ticket-secrets.js";
import { Metrics } from "../../../src/server/call/metrics.js";
import { createLogger } from "../../../src/server/logging.js";
import { RunningServer } from "../../../src/server/server.js";
import { openStorage } from "../../../src/storage/open-storage.js";
import { GrpcClient } from "../../support/grpc-client.js";
import { poll } from "../../support/poll.js";
import { TEST_CONFIG } from "../../support/server.js";
import { failingProvider, STORE_STATES } from "./failures.js";
import { type Front, openFronts } from "./fronts.js";

/** A deadline that is longer than the tests take. */
export const OCCUPIED_MS = 600_000;

/** A server with its data in memory, namespaces whose stores fail, and a client for each of its fronts. */
export class TestBed {
  readonly fronts: readonly Front[];
  readonly #server: RunningServer;
  readonly #pools: Pools;
  readonly #sign: Signer;
  readonly #grpcAddress: string;
  readonly #hanging: { calls: number };
  #occupier: GrpcClient | undefined;

  private constructor(server: RunningServer, pools: Pools, sign: Signer, hanging: { calls: number }) {
    this.#server = server;
    this.#hanging = hanging;
    this.#grpcAddress = `127.0.0.1:${server.grpcPort}`;
    this.#pools = pools;
    this.#sign = sign;
    this.fronts = openFronts({
      grpcAddress: this.#grpcAddress,
      httpUrl: `http://127.0.0.1:${server.httpPort}`,
    });
  }

  static async start(
    serverLimits: Partial<ServerLimits> = {},
    { makesTickets = true }: { readonly makesTickets?: boolean } = {},
  ): Promise<TestBed> {
    const folder = await mkdtemp(join(tmpdir(), "session-pool-table-"));
    const jwks = join(folder, "jwks.json");
    const sign = await makeSigner(jwks);
    const ticketSecretFile = makesTickets ? join(folder, "ticket-secret") : undefined;
    if (ticketSecretFile !== undefined) await writeFile(ticketSecretFile, newTicketSecret());
    const logger = createLogger("silent");
    const storage = await openStorage("memory:", {
      limits: DEFAULT_LIMITS,
      logger,
      search: true,
      undeleteMs: 86_400_000,
    });
    const pools = new Pools(storage, DEFAULT_LIMITS, logger);
    const hanging = { calls: 0 };
    const onCall = () => {
      hanging.calls += 1;
    };
    const failing = new Map<string, RootPool>(
      STORE_STATES.map((state) => [state, new RootPool({ storage: failingProvider(state, onCall), logger })]),
    );
    const metrics = new Metrics();
    const config: ServeConfig = {
      ...TEST_CONFIG,
      serverLimits: { ...DEFAULT_SERVER_LIMITS, ...serverLimits },
      shutdownMs: 0,
      jwt: { jwks, namespaceClaim: "namespace", scopeClaim: "scope" },
      ticketSecretFile,
    };
    const server = await RunningServer.start({
      config,
      logger,
      metrics,
      metricsText: () => metrics.registry.metrics(),
      pages: [],
      usePool: (namespace) => {
        const rootPool = failing.get(namespace);
        return rootPool ? { rootPool, release: () => {} } : pools.use(namespace);
      },
      pingStorage: () => pools.ping(),
    });
    await rm(folder, { recursive: true });
    return new TestBed(server, pools, sign, hanging);
  }

  /**
   * Makes a key for a namespace. A namespace that is named after a state of `STORE_STATES` has a store that fails so;
   * any other name gives an empty namespace.
   */
  key(namespace: string, scope: "read" | "write" | "admin" = "admin"): Promise<string> {
    return this.#sign(namespace, scope);
  }

  /** Starts a call and a stream that last until the server stops. Resolves once both have begun. */
  async occupy(): Promise<void> {
    const client = new GrpcClient(this.#grpcAddress);
    this.#occupier = client;
    const key = await this.key("occupied");
    const options = { key, timeoutMs: OCCUPIED_MS };
    await client.call(SessionService, "CreateSession", { sessionId: "s" }, options);
    await client.call(
      MessageService,
      "AppendMessage",
      { sessionId: "s", message: { info: { role: "user" } } },
      options,
    );
    const stream = client.stream(MessageService, "WatchMessages", { sessionId: "s", fromPosition: "0" }, options);
    await once(stream, "data");
    // The stream ends with an error when the server stops.
    stream.on("error", () => {});
    const hanging = { key: await this.key("hanging"), timeoutMs: OCCUPIED_MS };
    void client.call(MessageService, "CountMessages", { sessionId: "s" }, hanging);
    await poll(() => this.#hanging.calls > 0, "the call hangs");
  }

  async stop(): Promise<void> {
    this.#occupier?.close();
    for (const front of this.fronts) front.close();
    await this.#server.stop();
    await this.#pools.close();
  }
}

type Signer = (namespace: string, scope: string) => Promise<string>;

async function makeSigner(jwksPath: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  await writeFile(jwksPath, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }));
  return (namespace, scope) =>
    new SignJWT({ namespace, scope }).setProtectedHeader({ alg: "ES256" }).setExpirationTime("1h").sign(privateKey);
}
