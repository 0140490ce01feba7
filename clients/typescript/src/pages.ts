export interface PageOptions {
  /** The most items of one page, at most 1,000; 100 when absent. All pages are read, each when it is needed. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
}

interface PageRequest {
  readonly limit?: number;
  readonly pageToken: string;
}

/** Reads one page after the other, each when it is needed. */
export async function* pages<Page extends { readonly nextPageToken: string }>(
  { pageSize, signal }: { readonly [Name in keyof PageOptions]: PageOptions[Name] | undefined },
  readPage: (request: PageRequest, call: { signal?: AbortSignal }) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  const limit = pageSize === undefined ? {} : { limit: pageSize };
  let pageToken = "";
  do {
    const page = await readPage({ ...limit, pageToken }, signal === undefined ? {} : { signal });
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}
