import { describe, expect, it } from "vitest";
import { settle, World } from "./world.js";

describe("a batch that is being written", () => {
  it("is not shown half by a reader that looks again a little later", async () => {
    const world = new World("weak");
    const writer = world.process();
    const reader = world.process();
    await writer.createSession({ sessionId: "a" });
    await writer.say("a", "m");
    writer.gates.close("insert");
    const batch = writer.say("a", "x", "y", "z");
    await settle();
    await writer.gates.letOne("insert");
    await writer.gates.letOne("insert");
    reader.gates.close("readRange");
    const page = reader.listMessages("a", { limit: 100 });
    await settle();
    await reader.gates.letOne("readRange");
    await writer.gates.open("insert");
    expect(await batch).toBe("at 1");
    await reader.gates.open("readRange");
    expect(["m", "m x y z"]).toContain((await page).messages.map(({ id }) => id).join(" "));
  });
});
