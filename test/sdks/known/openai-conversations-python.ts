import type { KnownFailures } from "../suite.js";
import { OF_SQLITE_SESSION } from "./openai-agents-python.js";

const SESSION = "tests/memory/test_session.py";

export const OPENAI_CONVERSATIONS_PYTHON: KnownFailures = {
  "look at the connections, locks, rows and private methods of SQLiteSession": OF_SQLITE_SESSION,
  "compare a message of the assistant that was given in short, which OpenAI's API gives back as a list of texts": [
    `${SESSION}::test_sqlite_session_memory_direct`,
    `${SESSION}::test_sqlite_session_memory_pop_item`,
    `${SESSION}::test_sqlite_session_get_items_with_limit`,
    `${SESSION}::test_session_memory_appends_list_input_by_default`,
    `${SESSION}::test_sqlite_session_unicode_content`,
    `${SESSION}::test_sqlite_session_special_characters_and_sql_injection`,
    "tests/memory/test_session_limit.py::test_session_limit_drops_unmatched_history_function_call_output",
  ],
};
