import { chatgpt } from "./chatgpt.js";
import { opencode } from "./opencode.js";
import type { Reader } from "./reader.js";

/** The readers of other programs' files. When two know an entry, the first one reads it. */
export const READERS: readonly Reader[] = [chatgpt, opencode];
