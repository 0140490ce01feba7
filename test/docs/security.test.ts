import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Each sentence of what SECURITY.md promises, and the tests of it: a file, and a part of the title. */
const TESTS: readonly [string, ...(readonly [string, string])[]][] = [
  [
    "A server without `--keys-file` and `--jwks` refuses to listen on anything but loopback addresses.",
    ["test/unit/config/config.test.ts", "without keys, and accepts it with keys"],
  ],
  [
    "It also refuses requests that name another host, unless `--allowed-hosts` names it, so that no web page can reach the server through a host name that resolves to this machine (DNS rebinding).",
    ["test/api/server-hosts.test.ts", "answers 421 to every HTTP/1.1 and HTTP/2 request"],
    ["test/browser/rebinding.test.ts", "can read and delete nothing"],
  ],
  [
    "A key that is removed from the keys file is refused within a second as a rule and five at most, and its watches end.",
    ["test/api/server-access.test.ts", "a key that was removed from the file is refused"],
    ["test/api/server-reload.test.ts", "ends with unauthenticated when its key is removed, on every front"],
  ],
  [
    "If the file cannot be read then, this holds from the moment when it can.",
    ["test/api/server-reload.test.ts", "is refused by each of %i workers once it has some again"],
    ["test/unit/server/watched-files.test.ts", "is read again until that succeeds"],
  ],
  [
    "The watches of a token end when the token expires, or when the server reads a key set without the key that signed it.",
    ["test/api/server-reload.test.ts", "ends with unauthenticated when its token expires"],
    ["test/unit/server/auth/jwt.test.ts", "revokes the tokens that it signed, and no others"],
  ],
  ["Tokens without an expiry are refused.", ["test/unit/server/auth/jwt.test.ts", "is refused when it never expires"]],
  [
    "It permits nothing beyond that session and its scope, on any front.",
    ["test/api/tickets.test.ts", "opens its session and nothing else: %s"],
    ["test/api/tickets.test.ts", "permits no more than it does elsewhere"],
  ],
  [
    "It ends at its expiry, with RevokeTickets, when the session is deleted or gets another owner, and when the secret that signed it is removed from the file.",
    ["test/api/tickets.test.ts", "at their expiry, and their streams too"],
    ["test/api/tickets.test.ts", "with RevokeTickets, and their streams too"],
    ["test/api/tickets.test.ts", "with their session: none makes it again"],
    ["test/api/tickets.test.ts", "with a change of the owner"],
    ["test/api/tickets.test.ts", "when the secret is removed, and their streams too"],
  ],
  [
    "From then on it is refused at once, and its streams end within a second as a rule and five at most.",
    ["test/api/ticket-processes.test.ts", "are valid at both, and end at both"],
  ],
  ["It outlives the key that made it.", ["test/api/tickets.test.ts", "but not when their key is"]],
  [
    "Wrong keys delay the address that sends them, but no key that was verified before.",
    ["test/unit/server/auth/keys.test.ts", "make room for an address without wrong keys by refusing one with many"],
    ["test/unit/server/auth/keys.test.ts", "does not compare a slow hash again when the file changed"],
  ],
  [
    "A key or token opens one namespace.",
    ["test/interop/table.test.ts", "a key of another namespace changes and sees"],
  ],
  [
    "Session ids, messages, todos and fork sources of another namespace are treated as if they did not exist, and its page tokens and resume tokens are refused.",
    ["test/api/server-access.test.ts", "share no session, message, page token or todo"],
    ["test/contract/log-store/namespaces.ts", "cannot change anything of another namespace"],
    ["test/api/foreign-tokens.test.ts", "and resume tokens are good in their own namespace and in no other"],
  ],
  [
    "A caller that is bound to an owner sees and changes the sessions of that owner alone, on every front.",
    ["test/api/server-owners.test.ts", "open the sessions of their owner, and no others"],
    ["test/api/openai-owners.test.ts", "are answered to others as if they did not exist"],
    ["test/clients/mcp.test.ts", "shows and changes nothing but the sessions of the owner that it is given"],
  ],
  [
    "Those of others are treated as if they did not exist, and page tokens of other owners are refused.",
    ["test/api/server-owners.test.ts", "take no page tokens of another owner's lists, and give no other sign"],
    ["test/api/server-owners.test.ts", "end watches of a session that gets another owner, and hide its parent"],
  ],
  [
    "A token without the claim that `--jwt-owner-claim` names is refused, unless its scope is `admin`.",
    ["test/api/server-owners.test.ts", "are denied on every front if the claim is %j"],
    ["test/unit/server/auth/jwt.test.ts", "with the scope admin is never bound"],
  ],
  [
    "A key with the scope `read` cannot change anything, whichever protocol it uses.",
    ["test/api/server-access.test.ts", "can read but change nothing, on every front"],
  ],
  [
    "One table of methods serves every front, and the checks wrap that table once.",
    ["test/unit/api/method-table.test.ts", "holds every RPC of every service of proto/, once"],
    ["test/interop/table.test.ts", "every front gives the same answer:"],
  ],
  [
    "With `--audit-log`, every change and every refused attempt has a line that says who, what, when and with which result, and never what was written.",
    ["test/api/audit-log.test.ts", "has a line about each change: by whom, to what, with which result"],
    ["test/api/audit-log.test.ts", "has refused attempts on every front, however the caller was refused"],
    ["test/api/audit-log.test.ts", "never has content, keys or tickets"],
  ],
  [
    "It is in the file before the call is answered.",
    ["test/api/audit-log.test.ts", "has a line about each change: by whom, to what, with which result"],
  ],
  ["The keys file holds hashes.", ["test/unit/server/auth/keys.test.ts", "knows the keys whose hashes it holds"]],
  [
    "Keys, tickets and message content never appear in logs, metrics or traces, and the command line never in traces.",
    ["test/api/secrets.test.ts", "what callers send stands in no log, metric or trace, and their keys in no answer"],
    ["test/api/secrets.test.ts", "traces do not contain the command line"],
  ],
  [
    "An error may quote what its own caller has just sent in a wrong form, but nothing that is stored, and never a key or ticket.",
    ["test/unit/server/auth/keys.test.ts", "with an unknown key does not repeat it"],
    ["test/api/tickets.test.ts", "and the log hold none of it"],
    ["test/unit/server/call/call-pipeline.test.ts", "answers unexpected errors with a fixed text"],
  ],
  [
    "Whatever a caller sends is used only as a bound parameter, as a Map key or as the value of a string field.",
    ["test/contract/storage-provider/texts.ts", "'; DROP TABLE x; --"],
  ],
  [
    "It never becomes SQL, a MongoDB operator, a field name or an object property.",
    ["test/contract/storage-provider/texts.ts", "__proto__"],
    ["test/api/server-lifecycle.test.ts", "keeps keys that JavaScript objects would lose"],
  ],
  [
    "Messages, batches, bodies and the values in them, ids, nesting depth, pages, calls and streams have limits, and the error names the limit.",
    ["test/unit/domain/validate.test.ts", ""],
    ["test/unit/domain/validate-message.test.ts", ""],
    ["test/interop/table.test.ts", "every front refuses a body over its limit"],
    ["test/interop/table.test.ts", "every front refuses a request with more values than fit"],
  ],
  [
    "Their scripts cannot read answers.",
    ["test/browser/other-origin.test.ts", "is refused when its origin is not allowed"],
  ],
  [
    "Changes that come from another site, as the browser's headers (`Sec-Fetch-Site` or `Origin`) show, are refused.",
    ["test/api/server-hosts.test.ts", "refuses a change from another origin when the browser sends no Sec-Fetch-Site"],
    ["test/unit/server/http/cors.test.ts", "sec-fetch-site"],
  ],
  ["`--cors-origin` can allow an origin.", ["test/api/server-transport.test.ts", "preflights of allowed origins"]],
  [
    "A crash of the service never loses, doubles or moves what it acknowledged ([docs/history.md](docs/history.md)).",
    ["test/fault/sqlite-kill.test.ts", ""],
    ["test/fault/mongo-chaos.test.ts", ""],
  ],
];

it("SECURITY.md promises nothing that has no test", () => {
  const [, promised = ""] = /^## What is promised\n(.*?)^## /ms.exec(read("SECURITY.md")) ?? [];
  const sentences = promised
    .split("\n")
    .filter((line) => line.startsWith("- "))
    // The bold beginning is a heading.
    .flatMap((line) => line.replace(/^- \*\*.*?\*\* ?/, "").split(/(?<=\.) (?=[A-Z`])/));
  expect(sentences).toEqual(TESTS.map(([sentence]) => sentence));
});

it.each(TESTS)("the tests of this promise exist: %s", (_sentence, ...tests) => {
  for (const [file, title] of tests) expect(read(file), file).toContain(title);
});
