import { describe, expect, it } from "vitest";
import { StorageManager, type StorageOperations } from "../../../src/storage/storage-manager.js";
import { StorageProvider } from "../../../src/storage/storage-provider.js";

class Empty extends StorageProvider {}

const OPERATIONS = Object.getOwnPropertyNames(StorageProvider.prototype).filter(
  (name) => name !== "constructor" && name !== "close",
) as (keyof StorageOperations)[];

describe("StorageManager", () => {
  it("activates the first provider, or the named one", () => {
    const [a, b] = [new Empty(), new Empty()];
    expect(new StorageManager({ a, b }).active).toBe(a);
    expect(new StorageManager({ a, b }, "b").active).toBe(b);
    expect(new StorageManager({ a, b }).names).toEqual(["a", "b"]);
  });

  it("refuses a name that is not configured, and an empty set of providers", () => {
    expect(() => new StorageManager({ a: new Empty() }, "b")).toThrow(/"b".*configured: a/);
    expect(() => new StorageManager({ a: new Empty() }, "toString")).toThrow(RangeError);
    expect(() => new StorageManager({})).toThrow(RangeError);
  });

  it.each(OPERATIONS)("forwards %s with the same arguments, to the active provider only", async (operation) => {
    const asked: unknown[][] = [];
    const [active, idle] = [new Empty(), new Empty()];
    const answer = {};
    Object.assign(active, {
      [operation]: async (...args: unknown[]) => {
        asked.push(args);
        return answer;
      },
    });
    const manager = new StorageManager({ idle, active }, "active") as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >;
    const args = [{}, [], "x"];
    expect(await manager[operation]?.(...args)).toBe(answer);
    await manager[operation]?.("one");
    expect(asked).toEqual([args, ["one"]]);
    expect(asked[0]?.[0]).toBe(args[0]);
  });

  it.each(OPERATIONS.filter((name) => name !== "ping"))(
    "names the provider's class in the error when that class lacks %s",
    async (operation) => {
      const manager = new StorageManager({ main: new Empty() }) as unknown as Record<string, () => Promise<unknown>>;
      await expect(manager[operation]?.()).rejects.toMatchObject({
        code: "unimplemented",
        message: expect.stringMatching(/^Empty /),
      });
    },
  );

  it("closes all providers", async () => {
    const closed: string[] = [];
    class Closing extends StorageProvider {
      constructor(readonly name: string) {
        super();
      }
      override async close(): Promise<void> {
        closed.push(this.name);
      }
    }
    await new StorageManager({ a: new Closing("a"), b: new Closing("b") }).close();
    expect(closed).toEqual(["a", "b"]);
  });
});
