import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MessageBody } from "../../../../src/domain/message-body.js";
import { indexedWords, MOST_WORDS } from "../../../../src/storage/history/indexed-words.js";
import { MARKS, wordsColumn, wordsQuery } from "../../../../src/storage/postgres/words-column.js";
import { toColumn } from "../../../../src/storage/text-column.js";
import { ODD_TEXTS } from "../../../contract/log-store/fixtures.js";
import { startPostgresServer } from "../../../support/postgres-server.js";

const server = await startPostgresServer({ fast: true });
let client: pg.Client;
beforeAll(async () => {
  if (!server) return;
  client = new pg.Client(server.url);
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await server?.stop();
});

function message(text: string) {
  return { id: "m", body: MessageBody.of({ parts: [{ id: "", type: "text", text }] }) };
}

/** The lexemes that the server makes of a column. */
async function lexemesOf(column: string): Promise<string[]> {
  const { rows } = await client.query("SELECT array_agg(lexeme) AS all FROM unnest($1::tsvector)", [column]);
  return rows[0].all ?? [];
}

async function matches(column: string, query: string): Promise<boolean> {
  const { rows } = await client.query("SELECT $1::tsvector @@ $2::tsquery AS matches", [column, query]);
  return rows[0].matches;
}

const wordsIn = (namespace: string, text: string) => indexedWords(namespace, message(text), "text");

describe.skipIf(!server)("the words of an entry", () => {
  it("are the lexemes of its column, and each of them is found, whatever the namespace and the text hold", async () => {
    const odd = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: "binary", maxLength: 20 }));
    await fc.assert(
      fc.asyncProperty(odd, fc.array(odd, { maxLength: 5 }), async (name, texts) => {
        const namespace = toColumn(name);
        const text = texts.join(" word's \\ ");
        const column = wordsColumn(namespace, message(text), "text");
        const expected = wordsIn(namespace, text);
        expect((await lexemesOf(column)).sort()).toEqual([...new Set([MARKS.text, ...expected])].sort());
        for (const indexed of wordsIn(namespace, text)) {
          const word = indexed.slice(namespace.length + 1);
          for (const isPrefix of [false, true]) {
            expect(await matches(column, wordsQuery(namespace, [{ text: word, words: [word], isPrefix }]))).toBe(true);
          }
          const elsewhere = wordsQuery(`${namespace}'`, [{ text: word, words: [word], isPrefix: true }]);
          expect(await matches(column, elsewhere)).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ["short", "n"],
    ["of the longest namespace", "n".repeat(512)],
    ["of a namespace that escapes make longer", "\u0001".repeat(512)],
    ["of a namespace with quotes", "'".repeat(512)],
  ])("fit into a column when there are as many and as long ones as can be: %s", async (_name, name) => {
    const namespace = toColumn(name);
    const long = (i: number) => `${i}${"\uac00".repeat(80)}`;
    const text = Array.from({ length: MOST_WORDS + 10 }, (_, i) => long(i)).join(" ");
    const lexemes = await lexemesOf(wordsColumn(namespace, message(text), "text"));
    // What does not fit is found by reading no more, but the first words always are.
    expect(lexemes.length).toBeGreaterThan(600);
    expect(lexemes).toContain(`${namespace} ${long(0).slice(0, 64)}`);
    expect(new Set(lexemes).size).toBe(lexemes.length);
  });
});
