// Stands for a language model: it answers slowly, word by word, and not always in the same way.
import { setTimeout as sleep } from "node:timers/promises";

const SHORT = ["Late April to the middle of May.", "From the last days of April, for about three weeks."];
const LONG = "In Kyoto the azaleas begin beside the canals and end in the hills. ".repeat(4).trim();
let asked = 0;

export interface Said {
  role: string;
  content: string;
}

export async function* answer(messages: Said[], signal: AbortSignal): AsyncGenerator<string> {
  const isLong = messages.at(-1)?.content.includes("more");
  const text = isLong ? LONG : (SHORT[asked++ % SHORT.length] ?? "");
  for (const word of text.split(/(?= )/)) {
    await sleep(250, undefined, { signal });
    yield word;
  }
}
