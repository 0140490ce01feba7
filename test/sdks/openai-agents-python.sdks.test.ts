import { OPENAI_AGENTS_PYTHON } from "./known/openai-agents-python.js";
import { describePythonSuite } from "./python-suite.js";

await describePythonSuite({
  name: "openai-agents",
  needs: [
    ...["openai-agents[encrypt]", "aiosqlite", "fastapi", "httpx", "inline-snapshot"],
    ...["pytest", "pytest-asyncio", "pytest-mock"],
  ],
  suite: "sessions, encrypted sessions and the runner",
  files: /^(memory\/|deferred_session_writes\/|extensions\/memory\/test_encrypt_session|test_)[^/]*\.py$/,
  uses: /\b(SQLiteSession|SimpleListSession|CountingSession|IdStrippingSession)\b/,
  plugin: "agents_sessions",
  known: OPENAI_AGENTS_PYTHON,
});
