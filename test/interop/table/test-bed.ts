import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { DEFAULT_LOAD, type LoadLimits, type ServeConfig } from "../../../src/config.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import { Pools } from "../../../src/pools.js";
import { createLogger } from "../../../src/server/logging.js";
import { Metrics } from "../../../src/server/metrics.js";
import { RunningServer } from "../../../src/server/server.js";
import { openStorage } from "../../../src/storage/open-storage.js";
import { TEST_CONFIG } from "../../support/server.js";
import { failingProvider, STORE_STATES } from "./failures.js";
import { type Front, openFronts } from "./fronts.js";

/** A server in memory, with namespaces whose stores fail, and a client for each of its fronts. */
export class TestBed {
  readonly fronts: readonly Front[];
  readonly #server: RunningServer;
  readonly #pools: Pools;
  readonly #sign: Signer;

  private constructor(server: RunningServer, pools: Pools, sign: Signer) {
    this.#server = server;
    this.#pools = pools;
    this.#sign = sign;
    this.fronts = openFronts({
      grpcAddress: `127.0.0.1:${server.grpcPort}`,
      httpUrl: `http://127.0.0.1:${server.httpPort}`,
    });
  }

  static async start(load: Partial<LoadLimits> = {}): Promise<TestBed> {
    const folder = await mkdtemp(join(tmpdir(), "session-pool-table-"));
    const jwks = join(folder, "jwks.json");
    const sign = await makeSigner(jwks);
    const logger = createLogger("silent");
    const storage = await openStorage("memory:", { limits: DEFAULT_LIMITS, logger });
    const pools = new Pools(storage, DEFAULT_LIMITS, logger);
    const failing = new Map<string, RootPool>(
      STORE_STATES.map((state) => [state, new RootPool({ storage: failingProvider(state), logger })]),
    );
    const metrics = new Metrics();
    const config: ServeConfig = {
      ...TEST_CONFIG,
      load: { ...DEFAULT_LOAD, ...load },
      shutdownMs: 0,
      jwt: { jwks, namespaceClaim: "namespace", scopeClaim: "scope" },
    };
    const server = await RunningServer.start({
      config,
      logger,
      metrics,
      metricsText: () => metrics.registry.metrics(),
      pages: [],
      rootPoolFor: (namespace) => failing.get(namespace) ?? pools.for(namespace),
      pingStorage: () => pools.ping(),
    });
    await rm(folder, { recursive: true });
    return new TestBed(server, pools, sign);
  }

  /** A key for a namespace: a failing store's state, or any other name for one that is empty. */
  key(namespace: string, scope: "read" | "admin" = "admin"): Promise<string> {
    return this.#sign(namespace, scope);
  }

  async stop(): Promise<void> {
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
