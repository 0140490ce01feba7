/** An answer of REST as JSON, also when it is an error, which has a `code`. */
export type RestAnswer = Readonly<Record<string, unknown>>;

export async function callRest(
  url: string,
  key: string | undefined,
  method: string,
  path: string,
  body?: object,
): Promise<RestAnswer> {
  const headers = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return (await response.json()) as RestAnswer;
}

/**
 * What a server's readers can learn of its namespace: all sessions in the order of lists, read in pages of two, the
 * messages of each and of its ancestors, in pages of two, and the todos. Tokens are left out.
 */
export async function storeAnswers(url: string, key?: string): Promise<RestAnswer> {
  const pages = async (path: string, field: string) => {
    const items: RestAnswer[] = [];
    for (let token = "", isFirst = true; isFirst || token !== ""; isFirst = false) {
      const query = new URLSearchParams({ limit: "2", page_token: token });
      const page = await callRest(url, key, "GET", `${path}${path.includes("?") ? "&" : "?"}${query}`);
      if (page[field] === undefined) throw new Error(`${path}: ${JSON.stringify(page)}`);
      items.push(...(page[field] as RestAnswer[]));
      token = page.nextPageToken as string;
    }
    return items;
  };
  const sessions = await pages("/session?view=SESSION_VIEW_FULL", "sessions");
  const messages: Record<string, unknown> = {};
  for (const { sessionId } of sessions) {
    messages[sessionId as string] = await pages(`/session/${sessionId}/message?include_ancestors=true`, "messages");
  }
  return { sessions, messages, todos: await callRest(url, key, "GET", "/any/todo") };
}
