import fc from "fast-check";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { quoted, readPostgresUrl } from "../../../../src/storage/postgres/postgres-url.js";

const PLAIN = "postgres://127.0.0.1/db";

/** What the driver makes of a URL. */
function driven(url: string) {
  const { user, password, host, port, database } = new pg.Client(readPostgresUrl(url).driverUrl);
  return { user, password, host, port, database };
}

function refusal(url: string): Error & { code: string } {
  try {
    readPostgresUrl(url);
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error("The URL was read");
}

describe("readPostgresUrl", () => {
  it("has defaults", () => {
    expect(readPostgresUrl(PLAIN)).toEqual({
      driverUrl: PLAIN,
      name: PLAIN,
      schema: "session_pool",
      prepare: false,
      listenUrl: PLAIN,
      connections: 16,
    });
  });

  it("takes its own parameters out, and leaves those of the driver as they are", () => {
    const own = "schema=a%20b&prepare=true&listen=off&connections=1000";
    expect(readPostgresUrl(`${PLAIN}?sslmode=verify-full&${own}&sslrootcert=%2Fa%20b`)).toEqual({
      driverUrl: `${PLAIN}?sslmode=verify-full&sslrootcert=%2Fa%20b`,
      name: `${PLAIN}?schema=a%20b`,
      schema: "a b",
      prepare: true,
      listenUrl: null,
      connections: 1000,
    });
    expect(readPostgresUrl(`${PLAIN}?%73chema=x`)).toMatchObject({ driverUrl: PLAIN, schema: "x" });
  });

  it("listens at another address, with the password of that", () => {
    const direct = "postgresql://user:p%40ss@direct:6432/db?sslmode=disable";
    expect(readPostgresUrl(`${PLAIN}?listen=${encodeURIComponent(direct)}`).listenUrl).toBe(direct);
  });

  it.each([
    ["postgres://[::1]:5433/db", { host: "::1", port: 5433 }, "postgres://[::1]:5433/db"],
    ["postgres:///db?host=/var/run/postgresql", { host: "/var/run/postgresql" }, "postgres:///var/run/postgresql/db"],
    ["postgres://me:pw@/db?host=/tmp", { host: "/tmp", user: "me", password: "pw" }, "postgres:///tmp/db"],
    ["postgres://%2Ftmp/db", { host: "/tmp" }, "postgres://%2Ftmp/db"],
    ["postgres://a/db?user=me&password=pw", { user: "me", password: "pw" }, "postgres://a/db"],
    ["postgres://me:pw@a/db?host=b", { host: "b" }, "postgres://b/db"],
  ])("reads %s as the driver does, and names it without credentials", (url, parts, name) => {
    expect(driven(url)).toMatchObject({ database: "db", ...parts });
    expect(readPostgresUrl(url).name).toBe(name);
  });

  it("hands every user, password and database to the driver, and shows neither user nor password", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).filter((one) => !one.includes("\u0000"));
    fc.assert(
      fc.property(text, text, fc.stringMatching(/^[a-zäß_-]+$/), (user, password, database) => {
        const secret = `${encodeURIComponent(`user ${user}`)}:${encodeURIComponent(`secret ${password}`)}`;
        const url = `postgres://${secret}@127.0.0.1:6000/${encodeURIComponent(database)}?schema=x`;
        expect(driven(url)).toMatchObject({ user: `user ${user}`, password: `secret ${password}`, database });
        expect(readPostgresUrl(url).name).not.toMatch(/user|secret/);
      }),
    );
  });

  it.each([
    "postgres://me:secret/1@host/db",
    "postgres://me:12345/6@host/db",
    "postgres://me:12345#6@host/db",
    "postgres://me:12345?6@host/db",
    "postgres://me:%ff@host/db",
    "postgres://me:100%@host/db",
    "postgres://me:a b@host/db",
    "postgres://me:secret@host/db?%zz=1",
    "postgres://me:secret@host:port/db",
  ])("refuses %s, and repeats nothing of it", (url) => {
    const error = refusal(url);
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/cannot be read/) });
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toMatch(/secret|12345|100%/);
  });

  it.each([
    "postgres://me:secret@a,b/db",
    "postgres://me:secret@a:1,b:2/db",
    "postgres://me:secret@/db?host=a,b",
    `${PLAIN}?listen=postgres://me:secret@a,b/db`,
  ])("refuses several hosts: %s", (url) => {
    const error = refusal(url);
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/several hosts/) });
    expect(error.message).not.toContain("secret");
  });

  it.each([
    ["schema=a&schema=b", /schema more than once/],
    ["connections=1&%63onnections=2", /connections more than once/],
    ["schema=", /schema .* must/],
    ["schema=pg_x", /schema .* must/],
    ["schema=PG_x", /schema .* must/],
    ["schema=%00", /schema .* must/],
    [`schema=${"ä".repeat(32)}`, /schema .* must/],
    ["schema=a$f$b", /schema .* must/],
    ["prepare=yes", /prepare .* must be/],
    ["prepare=", /prepare .* must be/],
    ["listen=", /listen .* must be/],
    ["listen=http%3A%2F%2Fsecret", /listen .* must be/],
    ["connections=0", /connections .* must be/],
    ["connections=1001", /connections .* must be/],
    ["connections=1e2", /connections .* must be/],
  ])("refuses ?%s", (query, message) => {
    const error = refusal(`postgres://me:secret@host/db?${query}`);
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringMatching(message) });
    expect(error.message).not.toContain("secret");
  });

  it("takes the longest name of a schema", () => {
    expect(readPostgresUrl(`${PLAIN}?schema=${"x".repeat(63)}`).schema).toHaveLength(63);
  });
});

describe("quoted", () => {
  it("writes names so that nothing of them is SQL", () => {
    expect(quoted('a"; DROP TABLE b; --')).toBe('"a""; DROP TABLE b; --"');
  });
});
