import { afterAll, beforeAll, expect, it, vi } from "vitest";

type TableFilter = Readonly<Record<string, string>>;
type Labels = Readonly<Record<string, string>>;

let filterOf: (query: string) => TableFilter;
let queryOf: (filter: TableFilter) => string;
let requestOf: (filter: TableFilter) => object;
let changeOf: (text: string) => (labels: Labels) => Labels;

beforeAll(async () => {
  const storage = { getItem: () => null };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("localStorage", storage);
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", {
    baseURI: "http://localhost/",
    hidden: false,
    addEventListener: () => undefined,
    documentElement: { dataset: {} },
  });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("innerWidth", 1280);
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
  // Names that the compiler does not follow, because it checks the page with the types of browsers.
  const [table, lines] = ["session-table", "label-lines"].map(
    (name) => `../../../../../src/console/app/state/${name}.js`,
  );
  ({ filterOf, queryOf, requestOf } = await import(table as string));
  ({ changeOf } = await import(lines as string));
});
afterAll(() => void vi.unstubAllGlobals());

it("keeps a filter in the address, and asks the service for just what was typed", () => {
  const filter = filterOf(
    "title=caf%C3%A9&owner=ada&labels=team%3Dops+env%3Dprod&since=2026-01-02T03%3A04&order=title",
  );
  expect(queryOf(filter)).toBe(
    "order=title&title=caf%C3%A9&owner=ada&labels=team%3Dops+env%3Dprod&since=2026-01-02T03%3A04",
  );
  expect(requestOf(filter)).toEqual({
    orderBy: "title",
    title: "café",
    owner: "ada",
    labels: ["team=ops", "env=prod"],
    updatedSince: new Date("2026-01-02T03:04").toISOString(),
    updatedUntil: undefined,
  });
});

it("asks for all sessions without a filter, and for those without an owner by quotation marks", () => {
  expect([queryOf(filterOf("")), queryOf(filterOf("order=nonsense"))]).toEqual(["", ""]);
  expect(JSON.stringify(requestOf(filterOf("")))).toBe("{}");
  expect(requestOf({ ...filterOf(""), owner: ' "" ' })).toMatchObject({ owner: "" });
});

it("adds, changes and removes labels, and keeps the others", () => {
  const change = changeOf("team=ops\n-old\n\n flag \nexpr=a=b");
  expect(change({ team: "dev", old: "1", kept: "2" })).toEqual({ team: "ops", kept: "2", flag: "", expr: "a=b" });
  expect(change({})).toEqual({ team: "ops", flag: "", expr: "a=b" });
});
