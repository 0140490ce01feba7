import { afterAll, beforeAll, expect, it, vi } from "vitest";

interface Filter {
  readonly filterText: { value: string };
  readonly filterWords: { readonly value: readonly string[] };
  filterByService(): void;
  filterByOwner(owner: string): void;
}

let filter: Filter;
let list: { readonly listFilter: { readonly value: unknown } };

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("document", { baseURI: "http://localhost/", addEventListener: () => undefined, hidden: false });
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  // Names that the compiler does not follow, because it checks the page with the types of browsers.
  const [page, listPage] = ["session-filter", "session-list"].map(
    (one) => `../../../../../src/console/app/state/${one}.js`,
  );
  filter = await import(page as string);
  list = await import(listPage as string);
  filter.filterByService();
});
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** What the service filters by once the reader has stopped typing. */
function filterAfterTyping(): unknown {
  vi.advanceTimersByTime(300);
  return list.listFilter.value;
}

it.each([
  ["team=ops Billing owner:Ada", ["team=ops"], "Ada", ["billing"]],
  ["two words", [], undefined, ["two", "words"]],
  ['owner:"Ada Lovelace" notes', [], "Ada Lovelace", ["notes"]],
  ['owner:""', [], "", []],
  ["owner:auth0|a=b", [], "auth0|a=b", []],
  ["owner:", [], undefined, []],
  ['team=ops owner:"Ada', ["team=ops"], undefined, []],
])("splits %j into labels, owner and words", (text, labels, owner, words) => {
  filter.filterText.value = text;
  expect(filter.filterWords.value).toEqual(words);
  expect(filterAfterTyping()).toEqual({ labels, owner });
});

it.each(["ada", "Ada Lovelace", "auth0|a=b"])("filters by the owner %j as if it had been typed", (owner) => {
  filter.filterByOwner(owner);
  expect(filterAfterTyping()).toEqual({ labels: [], owner });
});
