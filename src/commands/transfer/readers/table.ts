import { aiSdk } from "./ai-sdk.js";
import { chatgpt } from "./chatgpt.js";
import { claudeAi } from "./claude-ai.js";
import { claudeCode } from "./claude-code.js";
import { codex } from "./codex.js";
import { librechat } from "./librechat.js";
import { openaiAgents } from "./openai-agents.js";
import { opencode } from "./opencode.js";
import { opencodeDatabase } from "./opencode-database.js";
import type { Reader } from "./reader.js";

/** The readers of other programs' files. When two know an entry, the first one reads it. */
export const READERS: readonly Reader[] = [
  ...[chatgpt, opencode, claudeAi, claudeCode, codex, librechat, aiSdk],
  ...[opencodeDatabase, openaiAgents],
];
