import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { confirm } from "../../../src/commands/confirm.js";

function terminal({ isTTY = true } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY });
  const output = new PassThrough();
  return { input, output, shown: () => String(output.read() ?? "") };
}

it.each(["y\n", "Yes\n", " y \n"])("goes on after the answer %j", async (answer) => {
  const asked = terminal();
  asked.input.write(answer);
  await confirm("12 sessions will go", false, asked);
  expect(asked.shown()).toBe("12 sessions will go\nGo on? [y/N] ");
});

it.each(["\n", "n\n", "yess\n", "ja\n"])("changes nothing after the answer %j", async (answer) => {
  const asked = terminal();
  asked.input.write(answer);
  await expect(confirm("12 sessions will go", false, asked)).rejects.toThrow("Nothing was changed");
});

it("changes nothing when the input ends without an answer", async () => {
  const asked = terminal();
  asked.input.end();
  await expect(confirm("12 sessions will go", false, asked)).rejects.toThrow("Nothing was changed");
});

it("does not ask when the caller has said yes, and refuses where nobody can answer", async () => {
  const asked = terminal({ isTTY: false });
  await confirm("12 sessions will go", true, asked);
  expect(asked.shown()).toBe("12 sessions will go\n");
  await expect(confirm("12 sessions will go", false, asked)).rejects.toThrow("add --yes");
});
