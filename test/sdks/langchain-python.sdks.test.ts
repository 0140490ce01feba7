import { describePythonSuite } from "./python-suite.js";

await describePythonSuite({
  name: "langchain-core",
  needs: [
    ...["langchain-core", "langchain-tests", "blockbuster", "freezegun", "grandalf", "responses", "syrupy"],
    ...["pytest", "pytest-asyncio", "pytest-mock"],
  ],
  suite: "chat histories, and chains that have one",
  files: /^unit_tests\/(chat_history|runnables)\/test_\w+\.py$/,
  uses: /\bInMemoryChatMessageHistory\b/,
  plugin: "langchain_histories",
  options: ["-o", "addopts="],
  known: {},
});
