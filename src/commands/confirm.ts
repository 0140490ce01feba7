import { once } from "node:events";
import { createInterface } from "node:readline/promises";

/** Where a question goes, and where its answer comes from. */
interface Asked {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/**
 * Says what is going to happen, and asks on the terminal whether to go on, unless the caller has said so already.
 * Throws an Error when the answer is not yes, or when there is no terminal to ask on.
 */
export async function confirm(
  intent: string,
  isConfirmed: boolean,
  { input, output }: Asked = { input: process.stdin, output: process.stderr },
): Promise<void> {
  output.write(`${intent}\n`);
  if (isConfirmed) return;
  if (!input.isTTY) throw new Error("There is no terminal to ask whether to go on; add --yes");
  // A terminal that readline does not take over still ends the process at Ctrl-C.
  const lines = createInterface({ input, output, terminal: false });
  const ended = once(lines, "close").then(() => "");
  const answer = await Promise.race([lines.question("Go on? [y/N] "), ended]);
  lines.close();
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw new Error("Nothing was changed");
}
