import { OPENAI_AGENTS_PYTHON } from "./known/openai-agents-python.js";
import { describePythonSuite, OPENAI_AGENTS_NEEDS } from "./python-suite.js";

await describePythonSuite({
  name: "openai-agents",
  needs: OPENAI_AGENTS_NEEDS,
  suite: "sessions, encrypted sessions and the runner",
  files: /^(memory\/|deferred_session_writes\/|extensions\/memory\/test_encrypt_session|test_)[^/]*\.py$/,
  uses: /\b(SQLiteSession|SimpleListSession|CountingSession|IdStrippingSession)\b/,
  plugin: "agents_sessions",
  known: OPENAI_AGENTS_PYTHON,
});
