import { CLAUDE_AGENT_PYTHON, CLAUDE_AGENT_PYTHON_LEFT_OUT } from "./known/claude-agent-python.js";
import { describePythonSuite } from "./python-suite.js";

await describePythonSuite({
  name: "claude-agent-sdk",
  needs: ["claude-agent-sdk", "anyio[trio]", "pytest", "pytest-asyncio"],
  suite: "conformance of stores, and the functions that take a store",
  files: /^test_(session|transcript)\w*\.py$/,
  uses: /\bInMemorySessionStore\b/,
  plugin: "claude_stores",
  // Our client needs asyncio, so the half of the tests that runs under trio is left out.
  options: ["-k", "not trio"],
  known: CLAUDE_AGENT_PYTHON,
  leftOut: CLAUDE_AGENT_PYTHON_LEFT_OUT,
});
