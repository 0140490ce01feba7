// The backend of a web app whose pages call session-pool themselves: it signs users in, makes their tokens, and answers
// their questions. Arguments: the address of session-pool, the port, the folder of the built page and the keys, and
// the seconds between two words and for which a token is valid.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { exportJWK, exportPKCS8, generateKeyPair, importPKCS8, SignJWT } from "jose";
import { Code, ConnectError, createSessionPoolClient, type SessionPoolClient, text } from "session-pool-client";

const [service = "http://127.0.0.1:8080", port = "8000", folder = "build/web-app", pause = "0.1", valid = "300"] =
  process.argv.slice(2);
/** Stands for your own table of users. */
const PASSWORDS = new Map([
  ["ada", "piece"],
  ["bob", "table"],
]);
const ANSWER = "A piece table keeps the text that was there and the text that was added, and never changes either. ";

/** Signs tokens. Its public half is in the file that session-pool reads with --jwks. */
async function loadKey() {
  const path = join(folder, "login-key.pem");
  if (!existsSync(path)) {
    const { privateKey, publicKey } = await generateKeyPair("EdDSA", { extractable: true });
    writeFileSync(path, await exportPKCS8(privateKey), { mode: 0o600 });
    writeFileSync(
      join(folder, "jwks.json"),
      JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "EdDSA" }] }),
    );
  }
  return await importPKCS8(readFileSync(path, "utf8"), "EdDSA");
}

const key = await loadKey();

/** A token that opens the sessions of this user, and no others. */
function tokenOf(user: string): Promise<string> {
  return new SignJWT({ namespace: "web-app", scope: "write" })
    .setProtectedHeader({ alg: "EdDSA" })
    .setIssuer("web-app")
    .setAudience("session-pool")
    .setSubject(user)
    .setExpirationTime(Math.floor(Date.now() / 1000) + Number(valid))
    .sign(key);
}

/** The users who are signed in, by the secret in their cookie. */
const signedIn = new Map<string, string>();

function userOf(request: IncomingMessage): string | undefined {
  return signedIn.get(/\blogin=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "");
}

const asText = { "Content-Type": "text/plain; charset=utf-8" };

async function logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { user, password } = (await json(request)) as { user: string; password: string };
  if (password === undefined || PASSWORDS.get(user) !== password) {
    response.writeHead(401, asText).end("Wrong user or password");
    return;
  }
  const secret = randomUUID();
  signedIn.set(secret, user);
  response.writeHead(204, { "Set-Cookie": `login=${secret}; HttpOnly; SameSite=Strict; Path=/` }).end();
}

/** Acts as the user does, so a mistake here reaches no session of another user. */
async function ask(user: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { chat, text: question } = (await json(request)) as { chat: string; text: string };
  const client = createSessionPoolClient({ baseUrl: service, key: () => tokenOf(user) });
  await client.append(chat, text("user", question));
  response.writeHead(202).end();
  answer(client, chat).then(
    () => console.log(`Answered ${user}`),
    (error) => console.log(`Stopped for ${user}: ${ConnectError.from(error).rawMessage}`),
  );
}

/** Stands for a language model, which is stopped when somebody ends the draft. */
async function answer(client: SessionPoolClient, chat: string): Promise<void> {
  const draft = await client.startDraft(chat, { info: { role: "assistant" } });
  for (const word of ANSWER.repeat(10).trim().split(/(?= )/)) {
    await sleep(Number(pause) * 1000, undefined, { signal: draft.signal });
    draft.write(word);
  }
  await draft.finish();
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url}`;
  if (route === "GET /") {
    const page = readFileSync("examples/web-app/page.html", "utf8").replace("{{service}}", service);
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page);
    return;
  }
  if (route === "GET /page.js") {
    response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(join(folder, "page.js")));
    return;
  }
  if (route === "POST /login") return await logIn(request, response);
  const user = userOf(request);
  if (user === undefined) response.writeHead(401, asText).end("Nobody is signed in");
  else if (route === "POST /token") response.writeHead(200, asText).end(await tokenOf(user));
  else if (route === "POST /ask") await ask(user, request, response);
  else response.writeHead(404, asText).end("No such route");
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    const { code, rawMessage } = ConnectError.from(error);
    response.writeHead(code === Code.NotFound ? 404 : 502, asText).end(rawMessage);
  });
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${(server.address() as { port: number }).port}`);
});
