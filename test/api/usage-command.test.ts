import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { csvLines, readTime } from "../../src/commands/usage.js";
import { LocalDays } from "../../src/domain/local-days.js";
import { RootPool } from "../../src/pool/root-pool.js";
import { openStorage } from "../../src/storage/open-storage.js";
import { Child, run } from "../support/child.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-usage-"));
const env = { SESSION_POOL_STORAGE: `sqlite:${join(folder, "chat.db")}` };

beforeAll(async () => {
  const storage = await openStorage(env.SESSION_POOL_STORAGE, {});
  const { sessions } = new RootPool({ storage: storage.provider("default") });
  await sessions.createSession({ sessionId: "s", owner: "ada", labels: { team: 'a "b", c' } });
  await sessions.createSession({ sessionId: "t" });
  const at = (text: string) => Date.parse(text) * 1000;
  const parts = [{ id: "", type: "tool_use", text: "", data: { id: "c", name: "bash\u001b", input: {} } }];
  const usage = { model: "m", inputTokens: 1_234_567, cost: "0.10", currency: "USD", durationMicros: 1_500_000 };
  await sessions.appendMessage("s", { role: "user", parts, timestampMicros: at("2026-01-01T22:59:59Z"), usage });
  const eur = { model: "m", outputTokens: 2, cost: "3", currency: "EUR", durationMicros: 250_000 };
  await sessions.appendMessage("t", {
    role: "user",
    parts: [],
    timestampMicros: at("2026-01-01T23:00:00Z"),
    usage: eur,
  });
  await storage.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("session-pool usage", () => {
  const usage = (...args: readonly string[]) => run(["usage", ...args], env);

  it("prints a table with totals", async () => {
    const { stdout } = await usage("--time-zone", "Europe/Berlin");
    expect(stdout.split("\n")).toEqual([
      "day         calls  input_tokens  output_tokens  cached_input_tokens  reasoning_tokens  cost_EUR  cost_USD  duration_p50_s  duration_p95_s",
      "2026-01-01      1     1,234,567              0                    0                 0         0       0.1             1.5             1.5",
      "2026-01-02      1             0              2                    0                 0         3         0            0.25            0.25",
      "total           2     1,234,567              2                    0                 0         3       0.1",
      "",
    ]);
  });

  it("takes filters, and counts tools without controlling the terminal", async () => {
    expect((await usage("--group-by", "tool,owner")).stdout).toBe(
      "tool        owner  calls  failed_calls\nbash\\u001b  ada        1             0\n",
    );
    const filters = [["--no-owner"], ["--session", "t"], ["--since", "2026-01-02", "--time-zone", "Europe/Berlin"]];
    for (const filter of filters) {
      expect((await usage("--group-by", "session", "--csv", ...filter)).stdout).toMatch(/^session,.*\r\nt,1,[^\n]*\n$/);
    }
  });

  it("prints CSV, with what has to be in quotation marks", async () => {
    const { stdout } = await usage("--group-by", "label:team,model", "--owner", "ada", "--csv");
    expect(stdout).toBe(
      'label:team,model,calls,input_tokens,output_tokens,cached_input_tokens,reasoning_tokens,cost_USD,duration_p50_s,duration_p95_s\r\n"a ""b"", c",m,1,1234567,0,0,0,0.1,1.5,1.5\r\n',
    );
  });

  it.each([[[]], [["--csv"]]])("ends without a word when nobody reads what %j prints", async (args) => {
    const unread = new Child(["usage", ...args], env);
    unread.process.stdout?.destroy();
    expect(await unread.ended()).toMatchObject({ code: 1, stderr: "" });
  });

  it.each([
    [["--since", "yesterday"], '--since is "yesterday"; it must be a time such as 7d'],
    [["--until", "2026-02-30"], '--until is "2026-02-30"'],
    [["--until", "2026-02-30T10:00:00Z"], '--until is "2026-02-30T10:00:00Z"'],
    [["--since", "2011-12-30", "--time-zone", "Pacific/Apia"], '--since is "2011-12-30"'],
    [["--owner", "ada", "--no-owner"], "option '--owner <name>' cannot be used with option '--no-owner'"],
    [["--group-by", "days"], 'group_by names "days"; day, model'],
    [["--time-zone", "Mars"], '--time-zone is "Mars"; it must be a name of the IANA database'],
    [["--session", "nobody"], 'Session "nobody" not found'],
    [["--label", "x"], 'label[0] is "x"; it must be key=value'],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await usage(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

it.each([
  ["7d", "2026-11-21T10:00:00Z"],
  ["90m", "2026-11-28T08:30:00Z"],
  ["2w", "2026-11-14T10:00:00Z"],
  ["2026-11-28", "2026-11-27T23:00:00Z"],
  ["2026-11-28T10:00:00.5+01:00", "2026-11-28T09:00:00.500Z"],
])("the time %s is %s", (text, time) => {
  const days = new LocalDays("Europe/Berlin");
  expect(readTime("--since", text, days, Date.parse("2026-11-28T10:00:00Z"))).toBe(Date.parse(time) * 1000);
});

it("a time has microseconds, as messages have", () => {
  const micros = Date.parse("2026-11-28T10:00:00Z") * 1000 + 123_456;
  expect(readTime("--since", "2026-11-28T10:00:00.123456Z", new LocalDays())).toBe(micros);
});

it("a field of CSV with a line break stands in quotation marks", () => {
  const column = { name: "a\nb", isNumber: false, text: () => "x\ry", total: () => "" };
  expect([...csvLines([column], [{} as never])]).toEqual(['"a\nb"\r\n', '"x\ry"\r\n']);
});
