import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { hashRandomKey, newKey } from "../../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../../src/server/auth/ticket-secrets.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import type { Json } from "../table/row.js";

/** Whose a session is, and what has become of it. */
export const KINDS = ["own", "another's", "ownerless", "deleted", "expired"] as const;
export type Kind = (typeof KINDS)[number];

export const CALLERS = [
  ...["bound key", "bound token", "ticket to read", "ticket to write"],
  ...["key to read", "key to write", "key to administer"],
] as const;
export type Caller = string;

/** Whose the callers with an owner are. */
const OWNER = "ada";

/** The owner of a session of each kind. */
const OWNERS: Readonly<Record<Kind, string>> = {
  own: OWNER,
  "another's": "bob",
  ownerless: "",
  deleted: OWNER,
  expired: OWNER,
};

/** A session, and tickets for it from when it was there. */
export interface Subject {
  readonly sessionId: string;
  /** A word that only this session's title, messages, drafts and notes hold. */
  readonly secret: string;
  readonly tickets: { readonly read: string; readonly write: string };
}

/** A server with keys, tokens and tickets, and sessions of all kinds. */
export class AccessBed {
  readonly server: TestServer;
  readonly #folder: string;
  readonly #credentials: Readonly<Record<Caller, string>>;
  #made = 0;

  private constructor(server: TestServer, folder: string, credentials: Readonly<Record<Caller, string>>) {
    this.server = server;
    this.#folder = folder;
    this.#credentials = credentials;
  }

  static async start(store: "memory" | "SQLite"): Promise<AccessBed> {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-access-"));
    const [jwks, keysFile, ticketSecretFile] = ["jwks", "keys", "secret"].map((name) => join(folder, name)) as [
      ...[string, string, string],
    ];
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] }));
    writeFileSync(ticketSecretFile, newTicketSecret());
    const entries = [
      { name: "bound key", scope: "write", owner: OWNER },
      { name: "key to read", scope: "read" },
      { name: "key to write", scope: "write" },
      { name: "key to administer", scope: "admin" },
    ].map((entry) => ({ ...entry, key: newKey() }));
    const kept = entries.map(({ key, ...entry }) => ({ ...entry, hash: hashRandomKey(key), namespace: "default" }));
    writeFileSync(keysFile, JSON.stringify(kept));
    const server = await startTestServer({
      storage: store === "memory" ? "memory:" : `sqlite:${join(folder, "store.db")}`,
      ...{ keysFile, ticketSecretFile, openAi: true, search: true },
      jwt: { jwks, namespaceClaim: "namespace", scopeClaim: "scope", ownerClaim: "user" },
    });
    const token = await new SignJWT({ namespace: "default", scope: "write", user: OWNER })
      .setProtectedHeader({ alg: "ES256" })
      .setExpirationTime("1h")
      .sign(privateKey);
    const keys = Object.fromEntries(entries.map(({ name, key }) => [name, key]));
    return new AccessBed(server, folder, { ...keys, "bound token": token });
  }

  /** What the caller sends. A ticket opens the session if that is or was the owner's, and otherwise `own`. */
  credentialOf(caller: Caller, kind: Kind, subject: Subject, own: Subject): string {
    if (!caller.startsWith("ticket")) return this.#credentials[caller] as string;
    const { tickets } = OWNERS[kind] === OWNER ? subject : own;
    return caller === "ticket to read" ? tickets.read : tickets.write;
  }

  /** A new id. */
  fresh(): string {
    return `fresh-${++this.#made}`;
  }

  /** Makes a session of this kind, with messages, a note, a draft and tickets. */
  async make(kind: Kind): Promise<Subject> {
    const number = ++this.#made;
    const [sessionId, secret] = [`session-${number}`, `secret${number}x`];
    await this.admin("POST", "/session", { sessionId, owner: OWNERS[kind], title: secret });
    const messages = ["m1", "m2"].map((id) => ({
      info: { id, role: "user" },
      parts: [{ type: "text", text: `word ${secret}` }],
    }));
    await this.admin("POST", `/session/${sessionId}/message:batch`, { messages });
    // The bytes and the name are the session's alone.
    await this.admin("POST", `/session/${sessionId}/attachment?attachment_id=a&name=${secret}`, { secret });
    const part = { type: "text", text: secret, attachment: { attachmentId: "a" } };
    const draft = { info: { id: "open", role: "user" }, parts: [part] };
    await this.admin("POST", `/session/${sessionId}/draft`, { message: draft });
    const note = { annotationId: "n1", messageId: "m1", text: secret };
    await this.admin("POST", `/session/${sessionId}/annotation`, note);
    const [read, write] = await Promise.all(["read", "write"].map((scope) => this.#ticket(sessionId, scope)));
    if (kind === "deleted") await this.admin("DELETE", `/session/${sessionId}`);
    const expireTime = "2001-01-01T00:00:00Z";
    if (kind === "expired") await this.admin("PATCH", `/session/${sessionId}`, { expireTime });
    return { sessionId, secret, tickets: { read: read as string, write: write as string } };
  }

  /** Sends a request of REST with the key that may do everything. */
  async admin(method: string, path: string, body?: Json): Promise<Json> {
    const headers = { authorization: `Bearer ${this.#credentials["key to administer"]}` };
    const json = { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(this.server.httpUrl + path, { method, headers, ...(body !== undefined && json) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as Json;
  }

  async #ticket(sessionId: string, scope: string): Promise<string> {
    return String((await this.admin("POST", `/session/${sessionId}/ticket`, { scope })).ticket);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.#folder, { recursive: true });
  }
}
