import { OPENAI_CONVERSATIONS_PYTHON } from "./known/openai-conversations-python.js";
import { describePythonSuite, OPENAI_AGENTS_NEEDS } from "./python-suite.js";

await describePythonSuite({
  name: "openai-agents",
  needs: OPENAI_AGENTS_NEEDS,
  suite: "OpenAIConversationsSession with /v1",
  files: /^(memory\/test_session(_limit|_context_wrapper)?|test_hitl_session_scenario)\.py$/,
  uses: /\bSQLiteSession\b/,
  plugin: "agents_conversations",
  known: OPENAI_CONVERSATIONS_PYTHON,
});
