import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeName } from "../../src/api/api-error.js";
import { Child } from "../support/child.js";
import { poll } from "../support/poll.js";
import { describeWith, needPrograms, ROOT, run } from "../support/toolchain.js";

const OPERATIONS = join(ROOT, "docs/operations");
const OURS = /\bsession_pool_[a-z0-9_]+/g;
const ANY = /\b(?:session_pool|process|nodejs)_[a-z0-9_]+/g;
const ASKED_CODES = /code\s*(?:=|!=|=~|!~)\s*\\?"([a-z_|]+)\\?"/g;

interface Panel {
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const folder = mkdtempSync(join(tmpdir(), "session-pool-monitoring-"));
/** What a server shows once it has answered calls, looked at its store and swept it. */
let metrics = "";
/** The types of all metrics, by name. */
const types = new Map<string, string>();

beforeAll(async () => {
  const storage = `sqlite:${join(folder, "metrics.db")}`;
  const { child, httpUrl } = await Child.serve("--storage", storage, "--search", "--sweep-interval-s", "1");
  await fetch(`${httpUrl}/session`);
  await poll(async () => {
    metrics = await (await fetch(`${httpUrl}/metrics`)).text();
    return ["sessions", "last_sweep_timestamp_seconds"].every((name) => metrics.includes(`\nsession_pool_${name} `));
  }, "the metrics of the store and the sweep have values");
  child.kill("SIGTERM");
  await child.ended();
  for (const [, name, type] of metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)) types.set(name as string, type as string);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("the metrics of the program", () => {
  it("are those that the operator's pages list", () => {
    const rows = pages().flatMap((page) => [...page.matchAll(/^\| `session_pool_.*$/gm)].map(([row]) => row));
    // Only the first column names metrics of its own.
    const listed = rows.flatMap((row) => (row.split("|")[1] as string).match(OURS) ?? []);
    expect(listed.sort()).toEqual(ours());
  });

  it.each(["alerts.yml", "alerts.test.yml", "grafana-dashboard.json"])("include all that %s asks for", (name) => {
    const asked = [...new Set(read(name).match(ANY))];
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((metric) => familyOf(metric) === undefined)).toEqual([]);
  });

  it("are all on the dashboard", () => {
    const shown = new Set(read("grafana-dashboard.json").match(OURS)?.map(familyOf));
    expect(ours().filter((name) => !shown.has(name))).toEqual([]);
  });

  it.each(["alerts.yml", "grafana-dashboard.json"])("have every code that %s asks for", (name) => {
    const codes = new Set([0, ...Object.values(Code).filter((code) => typeof code === "number")].map(codeName));
    const asked = [...read(name).matchAll(ASKED_CODES)].flatMap(([, some]) => (some as string).split("|"));
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((code) => !codes.has(code))).toEqual([]);
  });
});

it("the alert rules expect no more memory than the systemd unit allows", () => {
  const [, allowedMib] = /^MemoryMax=(\d+)M$/m.exec(read("session-pool.service")) ?? [];
  expect(read("alerts.yml")).toContain(
    `process_resident_memory_bytes{job="session-pool"} > 0.9 * ${allowedMib} * 1024`,
  );
});

await describeWith(
  "Prometheus",
  async () => needPrograms("promtool"),
  () => {
    it("finds nothing wrong with the names of our metrics", () => {
      const problems = lint(metrics).filter((line) => line.startsWith("session_pool_"));
      expect(problems).toEqual([]);
    });

    it("loads the scrape configuration, which names the rules and their job", async () => {
      expect(read("prometheus.yml")).toContain("- alerts.yml");
      expect(read("prometheus.yml")).toContain("job_name: session-pool");
      await run("promtool", ["check", "config", "--syntax-only", "prometheus.yml"], { cwd: OPERATIONS });
    });

    it("raises each alert in a test, and none for a healthy server", async () => {
      const alerts = [...read("alerts.yml").matchAll(/- alert: (\S+)/g)].map(([, name]) => name as string);
      const tests = read("alerts.test.yml");
      expect(alerts.length).toBeGreaterThan(10);
      expect(alerts.filter((name) => !tests.includes(name))).toEqual([]);
      await run("promtool", ["check", "rules", "alerts.yml"], { cwd: OPERATIONS });
      await run("promtool", ["test", "rules", "alerts.test.yml"], { cwd: OPERATIONS });
    });

    it("understands the queries of the dashboard, which Grafana can provision", async () => {
      const { id, uid, schemaVersion, panels } = JSON.parse(read("grafana-dashboard.json"));
      expect({ id, uid, schemaVersion }).toEqual({ id: null, uid: "session-pool", schemaVersion: 39 });
      const drawn = (panels as Panel[]).filter(({ type }) => type !== "row");
      expect(drawn.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
      const queries = drawn.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
      const rules = queries.map((expr, i) => ({ record: `query:${i}`, expr: withoutVariables(expr) }));
      const file = join(folder, "queries.yml");
      writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
      await run("promtool", ["check", "rules", file]);
    });
  },
);

function read(name: string): string {
  return readFileSync(join(OPERATIONS, name), "utf8");
}

/** The pages for operators. */
function pages(): string[] {
  const inFolder = readdirSync(OPERATIONS).filter((name) => name.endsWith(".md"));
  return [readFileSync(join(ROOT, "docs/operations.md"), "utf8"), ...inFolder.map(read)];
}

function ours(): string[] {
  return [...types.keys()].filter((name) => name.startsWith("session_pool_")).sort();
}

/** The name under which a metric is described; undefined when there is no such metric. */
function familyOf(metric: string): string | undefined {
  if (types.has(metric) && types.get(metric) !== "histogram") return metric;
  const family = metric.replace(/_(bucket|sum|count)$/, "");
  return ["histogram", "summary"].includes(types.get(family) ?? "") ? family : undefined;
}

/** What promtool has to say about metrics, one line each. */
function lint(text: string): string[] {
  try {
    return execFileSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8", stdio: "pipe" }).split("\n");
  } catch (error) {
    return (error as { stderr: string }).stderr.split("\n");
  }
}

/** A query as Grafana sends it, with a value for each of its variables. */
function withoutVariables(query: string): string {
  return query.replaceAll("$__rate_interval", "5m").replace(/\$(instance|front|method)\b/g, ".*");
}
