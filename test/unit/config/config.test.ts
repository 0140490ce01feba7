import { Command } from "commander";
import { afterEach, describe, expect, it } from "vitest";
import {
  addServeOptions,
  DEFAULT_SERVER_LIMITS,
  isLoopback,
  parseAddress,
  readServeConfig,
  type ServeConfig,
  warningsOf,
} from "../../../src/config/config.js";
import { parseTime } from "../../../src/config/flags.js";
import { connectionsFor } from "../../../src/config/server-limits.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";

const set = new Set<string>();

afterEach(() => {
  for (const name of set) delete process.env[name];
  set.clear();
});

describe("the configuration of serve", () => {
  it("has the documented defaults", () => {
    expect(read()).toMatchObject({
      storage: "sqlite:./data/session-pool.db",
      grpcAddress: { host: "127.0.0.1", port: 50051 },
      httpAddress: { host: "127.0.0.1", port: 8080 },
      workers: 1,
      logLevel: "info",
      corsOrigins: [],
      limits: DEFAULT_LIMITS,
      serverLimits: { ...DEFAULT_SERVER_LIMITS, connections: expect.any(Number), perKey: expect.any(Object) },
      sweepIntervalMs: 300_000,
      namespaceIdleMs: 900_000,
      retentionMs: Number.POSITIVE_INFINITY,
      feedRetentionMs: 86_400_000,
      attachmentIdleMs: 86_400_000,
      shutdownMs: 10_000,
    });
  });

  it("comes from flags, and from the environment where a flag is missing", () => {
    env("SESSION_POOL_STORAGE", "memory:");
    env("SESSION_POOL_HTTP_ADDRESS", "localhost:81");
    env("SESSION_POOL_LIMIT_MESSAGE_BYTES", "77");
    env("SESSION_POOL_CORS_ORIGIN", "https://a.test, http://b.test:8080");
    const config = read("--http-address", "[::1]:82", "--workers", "3", "--storage", "sqlite:x.db");
    expect(config).toMatchObject({
      storage: "sqlite:x.db",
      httpAddress: { host: "::1", port: 82 },
      workers: 3,
      corsOrigins: ["https://a.test", "http://b.test:8080"],
    });
    expect(config.limits.messageBytes).toBe(77);
  });

  it("can be changed for every limit", () => {
    const keys = Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[];
    const args = keys.flatMap((key, i) => [
      `--limit-${key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`,
      String(i + 100),
    ]);
    expect(read(...args).limits).toEqual(Object.fromEntries(keys.map((key, i) => [key, i + 100])));
  });

  it("has no quotas unless they are given, one by one", () => {
    const absent = { sessions: undefined, bytes: undefined, callsPerMinute: undefined };
    expect(read().quotas).toEqual({ owner: absent, key: absent, namespace: absent });
    env("SESSION_POOL_QUOTA_KEY_CALLS_PER_MINUTE", "8");
    const kinds = ["sessions", "bytes", "calls-per-minute"];
    const names = ["owner", "key", "namespace"].flatMap((holder) => kinds.map((kind) => `--quota-${holder}-${kind}`));
    const given = names.filter((name) => name !== "--quota-key-calls-per-minute");
    expect(read(...given.flatMap((name, i) => [name, String(i + 1)])).quotas).toEqual({
      owner: { sessions: 1, bytes: 2, callsPerMinute: 3 },
      key: { sessions: 4, bytes: 5, callsPerMinute: 8 },
      namespace: { sessions: 6, bytes: 7, callsPerMinute: 8 },
    });
    expect(() => read("--quota-owner-bytes", "0")).toThrow(/It must be above 0/);
  });

  it("lets no limit of ids refuse the ids that the service makes", () => {
    expect(() => read("--limit-id-bytes", "48")).toThrow(/It must be at least 49/);
    expect(read("--limit-id-bytes", "49").limits.idBytes).toBe(49);
  });

  it.each([
    ["--call-timeout-ms", 1_728_000_000],
    ["--body-timeout-s", 1_728_000],
    ["--connection-idle-s", 1_728_000],
    ["--connection-age-s", 1_728_000],
    ["--sweep-interval-s", 1_728_000],
    ["--namespace-idle-s", 1_728_000],
    ["--draft-timeout-s", 1_728_000],
    ["--shutdown-s", 1_728_000],
  ])("refuses a %s that no timer can wait for", (flag, most) => {
    expect(() => read(flag, String(most))).not.toThrow();
    expect(() => read(flag, String(most + 1))).toThrow(`It must be at most ${most}, which is 20 days`);
  });

  it.each(["--jwt-issuer", "--jwt-audience", "--jwt-owner-claim"])("refuses %s without a key set", (flag) => {
    expect(() => read(flag, "x")).toThrow("--jwt-issuer, --jwt-audience and --jwt-owner-claim need --jwks");
    expect(read(flag, "x", "--jwks", "keys.json").jwt).toMatchObject({ jwks: "keys.json" });
  });

  it.each([
    ["http://issuer.test/jwks", true],
    ["HTTP://192.0.2.1/jwks", true],
    ["http://[2001:db8::1]/jwks", true],
    ["https://issuer.test/jwks", false],
    ["http://localhost:8000/jwks", false],
    ["http://127.0.0.1/jwks", false],
    ["http://[::1]:8000/jwks", false],
    ["http.json", false],
  ])("warns about the key set %s: %s", (jwks, warns) => {
    const warnings = warningsOf(read("--jwks", jwks, "--jwt-audience", "a"));
    expect(warnings).toEqual(warns ? [expect.stringContaining("--jwks is fetched without TLS")] : []);
  });

  it("posts to one URL, and warns if others can read what is posted", () => {
    const webhook = (url: string) => read("--webhook", url, "--webhook-secret-file", "secret");
    expect(read().webhook).toBeUndefined();
    const { webhook: found, ...config } = webhook("https://user:pass@receiver.test/a?b=c");
    expect(found).toEqual({ url: "https://user:pass@receiver.test/a?b=c", secretFile: "secret" });
    expect(warningsOf({ ...config, webhook: found }, "24.0.0")).toEqual([]);
    expect(warningsOf(webhook("http://127.0.0.1:9000"), "24.0.0")).toEqual([]);
    expect(warningsOf(webhook("http://receiver.test"), "24.0.0")).toEqual([expect.stringContaining("not https")]);
    for (const half of ["--webhook", "--webhook-secret-file"])
      expect(() => read(half, "x")).toThrow("--webhook and --webhook-secret-file must be given together");
  });

  it.each(["receiver.test", "ftp://receiver.test/", "https://", "https://a.test/#secret", "https://%zz@a.test/"])(
    "refuses to post to %s, without showing it",
    (url) => {
      expect(() => read("--webhook", url, "--webhook-secret-file", "secret")).toThrow(
        /^--webhook must be one http or https URL without a fragment$/,
      );
    },
  );

  it("searches texts or everything, and takes what a switch was set to before", () => {
    expect(read().search).toBe(false);
    expect(read("--search").search).toBe("text");
    expect(read("--search", "--openai")).toMatchObject({ search: "text", openAi: true });
    for (const scope of ["text", "all"]) {
      expect(read("--search", scope).search).toBe(scope);
      expect(read(`--search=${scope}`).search).toBe(scope);
    }
    expect(() => read("--search", "words")).toThrow("It must be text or all.");
    for (const [value, scope] of [
      ["all", "all"],
      ["text", "text"],
      ["1", "text"],
      ["true", "text"],
      ["", "text"],
    ] as const) {
      env("SESSION_POOL_SEARCH", value);
      expect(read().search, value).toBe(scope);
    }
    expect(read("--search", "all").search).toBe("all");
    env("SESSION_POOL_SEARCH", "false");
    expect(() => read()).toThrow("It must be text or all.");
  });

  it("binds tokens to owners only if a claim is named, by a flag or in the environment", () => {
    expect(read("--jwks", "keys.json").jwt?.ownerClaim).toBeUndefined();
    expect(read("--jwks", "keys.json", "--jwt-owner-claim", "sub").jwt?.ownerClaim).toBe("sub");
    expect(() => read("--jwks", "keys.json", "--jwt-owner-claim", "")).toThrow(/must not be empty/);
    env("SESSION_POOL_JWT_OWNER_CLAIM", "user");
    expect(read("--jwks", "keys.json").jwt?.ownerClaim).toBe("user");
  });

  it("refuses a key set at something that looks like a URL and is none", () => {
    expect(() => read("--jwks", "https://:8")).toThrow("--jwks is no URL that can be fetched: https://:8");
  });

  it("allows one key half of the calls and a quarter of the memory by default", () => {
    const args = ["--max-calls", "7", "--max-watchers", "8", "--max-connections", "100", "--max-buffered-bytes"];
    const { serverLimits } = read(...args, "400000000", "--max-watchers-per-key", "3", "--body-timeout-s", "2");
    expect(serverLimits).toMatchObject({
      ...{ inFlightCalls: 7, watchers: 8, connections: 100, bufferedBytes: 400_000_000, bodyTimeoutMs: 2000 },
      perKey: { inFlightCalls: 4, watchers: 3, connections: 50, bufferedBytes: 100_000_000 },
    });
  });

  it("keeps the default buffer so small that a process, which takes twice as much, stays below 300 MiB", () => {
    expect(2 * read().serverLimits.bufferedBytes).toBeLessThan(300 * 2 ** 20);
  });

  it("refuses a buffer that is smaller than what the largest request needs", () => {
    expect(() => read("--max-buffered-bytes-per-key", "9000000")).toThrow(/--max-buffered-bytes-per-key must be/);
    expect(() => read("--max-body-bytes", "200000000")).toThrow(/--max-buffered-bytes-per-key must be/);
    expect(() => read("--max-buffered-bytes-per-key", "9000000", "--max-body-bytes", "1000000")).not.toThrow();
  });

  it("allows so many values that the largest request and they fit into the memory of one key", () => {
    expect(read().serverLimits.bodyValues).toBe(100_000);
    const small = ["--max-buffered-bytes-per-key", "9000000", "--max-body-bytes", "1000000"];
    const fitting = Math.floor((9_000_000 - 1_000_000 - 2 ** 20) / 128);
    expect(read(...small).serverLimits.bodyValues).toBe(fitting);
    expect(read(...small, "--max-body-values", `${fitting}`).serverLimits.bodyValues).toBe(fitting);
    expect(() => read(...small, "--max-body-values", `${fitting + 1}`)).toThrow(`must be at most ${fitting}`);
  });

  it("allows as many connections as descriptors permit", () => {
    expect([connectionsFor(1024), connectionsFor(1_048_576), connectionsFor(undefined)]).toEqual([768, 8192, 8192]);
  });

  it("records traces only when OTEL_ variables are set", () => {
    expect(read().tracing).toBe(Object.keys(process.env).some((name) => name.startsWith("OTEL_")));
    env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    expect(read().tracing).toBe(true);
  });

  it.each([
    [["--http-address", "192.168.1.5:80"], /192\.168\.1\.5:80 is refused/],
    [["--grpc-address", "0.0.0.0:80"], /0\.0\.0\.0:80 is refused/],
    [["--grpc-address", "[::]:80"], /\[::\]:80 is refused/],
  ])("refuses %j without keys, and accepts it with keys", (args, message) => {
    expect(() => read(...args)).toThrow(message);
    expect(() => read(...args, "--keys-file", "keys.json")).not.toThrow();
    expect(() => read(...args, "--jwks", "https://issuer.test/jwks")).not.toThrow();
  });

  it.each([
    ["--workers", "0"],
    ["--workers", "1.5"],
    ["--max-calls", "many"],
    ["--max-watchers", "-1"],
    ["--keys-file", ""],
    ["--cors-origin", "https://a.test/path"],
    ["--log-level", "verbose"],
    ["--sweep-interval-s", "1e3"],
  ])("refuses %s %j", (name, value) => {
    expect(() => read(name, value)).toThrow();
  });
});

describe("the warning about an old Node", () => {
  const OLD = /^Node 22\.23\.3 has faults .* use Node 24 or later/;
  const exposed = { host: "0.0.0.0", port: 1 };

  it.each(["httpAddress", "grpcAddress", "metricsAddress"] as const)("comes once, if %s is exposed", (name) => {
    const config = { ...read(), [name]: exposed };
    expect(warningsOf(config, "22.23.3")).toEqual([expect.stringMatching(OLD)]);
    expect(warningsOf(config, "20.20.2")).toHaveLength(1);
    expect(warningsOf(config, "24.0.0")).toEqual([]);
    expect(warningsOf(config, "26.10.0")).toEqual([]);
  });

  it("does not come on loopback", () => {
    expect(warningsOf({ ...read(), metricsAddress: { host: "::1", port: 1 } }, "20.20.2")).toEqual([]);
  });
});

describe("an address", () => {
  it.each(["", "8080", "a:", "a:70000", "a:b", "[::1]", "::1:80", "a b:1"])("cannot be %j", (text) => {
    expect(() => parseAddress("--x", text)).toThrow(/--x must be host:port/);
  });

  it.each([
    ["127.0.0.1", true],
    ["127.8.9.1", true],
    ["::1", true],
    ["localhost", true],
    ["0.0.0.0", false],
    ["::", false],
    ["127.0.0.1.example.com", false],
    ["10.0.0.1", false],
  ])("of the host %s is reachable from this machine only: %s", (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});

describe("a time of a command", () => {
  it.each([
    ["2026-05-04", "2026-05-04T00:00:00Z", 0],
    ["2026-05-04T09:30Z", "2026-05-04T09:30:00Z", 0],
    ["2026-05-04t09:30:00z", "2026-05-04T09:30:00Z", 0],
    ["2026-05-04T09:30:00.5+02:00", "2026-05-04T07:30:00.500Z", 0],
    ["2026-05-04T09:30:00.123456Z", "2026-05-04T09:30:00.123Z", 456],
    ["2026-05-04T09:30:00.123456001Z", "2026-05-04T09:30:00.123Z", 457],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999Z", 999],
  ])("%s is %s and %d microseconds", (text, time, micros) => {
    expect(parseTime(text)).toBe(Date.parse(time) * 1000 + micros);
  });

  it.each(["0001-01-01", "9999-12-31T23:59:59.999999999Z"])("%s is as far away as can be counted", (text) => {
    expect(Math.abs(parseTime(text))).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each([
    "2026-02-30",
    "2026-02-30T10:00:00Z",
    "2026-11-31T00:00:00+01:00",
    "2026-11-03T24:00:00Z",
    "2026-11-03T23:59:60Z",
    "2026-11-03T10:00.5Z",
    "2026-11-03T10:00:00",
    "2026-11-03 10:00:00Z",
    "now",
    "",
  ])("cannot be %j", (text) => {
    expect(() => parseTime(text)).toThrow("It must be a time such as");
  });
});

function read(...args: string[]): ServeConfig {
  const command = addServeOptions(new Command().exitOverride().configureOutput({ writeErr: () => undefined }));
  command.parse(args, { from: "user" });
  return readServeConfig(command.opts());
}

function env(name: string, value: string): void {
  set.add(name);
  process.env[name] = value;
}
