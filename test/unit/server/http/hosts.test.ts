import { describe, expect, it } from "vitest";
import { makeHostCheck } from "../../../../src/server/http/hosts.js";

const LOCAL = ["localhost", "localhost:8080", "LOCALHOST.", "127.0.0.1:80", "127.9.8.7", "[::1]", "[::1]:8080"];
const FOREIGN = [
  "evil.example",
  "evil.example:8080",
  "localhost.evil.example",
  "127.0.0.1.evil.example",
  "[::2]",
  "0.0.0.0",
];

describe("the host of a request", () => {
  it("must be this machine where no keys are needed", () => {
    const isServed = makeHostCheck({ allowed: [], isKeyed: false });
    expect(LOCAL.filter((host) => !isServed(host))).toEqual([]);
    expect(FOREIGN.filter(isServed)).toEqual([]);
  });

  it.each([true, false])("may be one that is allowed, with any port (keys: %j)", (isKeyed) => {
    const isServed = makeHostCheck({ allowed: ["Sessions.example", "[2001:db8::1]"], isKeyed });
    expect(isServed("sessions.example")).toBe(true);
    expect(isServed("SESSIONS.example.:8443")).toBe(true);
    expect(isServed("[2001:DB8::1]:80")).toBe(true);
    expect(LOCAL.filter((host) => !isServed(host))).toEqual([]);
    expect(FOREIGN.filter(isServed)).toEqual([]);
  });

  it("may be any when keys are needed and none are named", () => {
    const isServed = makeHostCheck({ allowed: [], isKeyed: true });
    expect([...LOCAL, ...FOREIGN].filter((host) => !isServed(host))).toEqual([]);
  });
});
