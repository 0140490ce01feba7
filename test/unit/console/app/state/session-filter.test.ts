import { afterAll, beforeAll, expect, it, vi } from "vitest";

interface Filter {
  filterText: { value: string };
  filterWords: { value: readonly string[] };
  serviceFilter: (text: string) => { labels: readonly string[]; owner?: string };
  filterByOwner: (owner: string) => void;
}

let filter: Filter;

beforeAll(async () => {
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/session-filter.js";
  filter = await import(page);
});
afterAll(() => void vi.unstubAllGlobals());

it.each([
  ["", [], undefined, []],
  ["two words", [], undefined, ["two", "words"]],
  ["team=ops Billing owner:Ada", ["team=ops"], "Ada", ["billing"]],
  ['owner:"Ada Lovelace" notes', [], "Ada Lovelace", ["notes"]],
  ['owner:""', [], "", []],
  ["owner:auth0|a=b", [], "auth0|a=b", []],
  ["owner:", [], undefined, []],
  ['owner:"Ada', [], undefined, []],
])("splits %j into labels, owner and words", (text, labels, owner, words) => {
  expect(filter.serviceFilter(text)).toEqual({ labels, owner });
  filter.filterText.value = text;
  expect(filter.filterWords.value).toEqual(words);
});

it.each(["ada", "Ada Lovelace", "auth0|a=b"])("filters by the owner %j as if it had been typed", (owner) => {
  filter.filterByOwner(owner);
  expect(filter.serviceFilter(filter.filterText.value)).toEqual({ labels: [], owner });
});
