import type { KnownFailures } from "../suite.js";

const SESSION = "tests/memory/test_session.py";
const SUFFIX = "tests/memory/test_compaction_suffix.py";
const VISIBILITY = "tests/memory/test_compaction_model_visibility.py";
const ENCRYPTED = "tests/extensions/memory/test_encrypt_session.py";
const COMPACTION = "tests/memory/test_openai_responses_compaction_session.py::TestOpenAIResponsesCompactionSession";

/** Tests of sessions that look at the connections, locks, rows and private methods of SQLiteSession. */
export const OF_SQLITE_SESSION: readonly string[] = [
  `${SESSION}::test_sqlite_session_close_closes_worker_thread_connections`,
  `${SESSION}::test_sqlite_session_reaps_connections_from_exited_worker_threads`,
  `${SESSION}::test_sqlite_session_closes_retired_connections_before_the_next_allocation`,
  `${SESSION}::test_sqlite_session_keeps_connections_of_live_worker_threads`,
  `${SESSION}::test_sqlite_session_closed_rejects_empty_add_items`,
  `${SESSION}::test_sqlite_session_pop_item_skips_corrupt_most_recent`,
  `${SESSION}::test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows`,
  `${SESSION}::test_sqlite_session_get_items_limit_skips_corrupt_newest_rows`,
  `${SESSION}::test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows`,
  `${SESSION}::test_sqlite_session_file_lock_is_shared_across_instances`,
  `${SESSION}::test_sqlite_session_failed_add_items_releases_write_lock`,
  `${SESSION}::test_sqlite_session_failed_clear_session_rolls_back`,
  `${SESSION}::test_sqlite_session_failed_pop_item_releases_write_lock`,
  `${SESSION}::test_sqlite_session_rollback_failure_evicts_connection`,
  `${SESSION}::test_sqlite_session_close_retries_quarantined_connection`,
  `${SESSION}::test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome`,
];

export const OPENAI_AGENTS_PYTHON: KnownFailures = {
  "look at the connections, locks, rows and private methods of SQLiteSession": [
    ...OF_SQLITE_SESSION,
    `${SUFFIX}::test_suffix_transaction_rolls_back_failed_insert`,
    `${SUFFIX}::test_cancelled_suffix_transaction_settles_before_newer_append`,
    `${SUFFIX}::test_failed_encrypted_suffix_transaction_preserves_original_tokens`,
    `${COMPACTION}::test_settled_pop_failure_invalidates_response_chain`,
    `${COMPACTION}::test_settled_clear_failure_invalidates_response_chain`,
    "tests/test_run_impl_resume_paths.py::test_handoff_resume_after_cancelled_compaction_commits",
  ],
  "need _get_compaction_snapshot, a private method of SQLiteSession; in other stores the SDK replaces only whole histories":
    [
      `${VISIBILITY}::test_backend_read_limit_cannot_hide_retained_history_from_compaction`,
      `${VISIBILITY}::test_automatic_compaction_does_not_reload_unbounded_hidden_history`,
      `${VISIBILITY}::test_expired_read_overhead_does_not_authorize_hidden_history`,
      `${SUFFIX}::test_new_backend_write_invalidates_snapshot`,
      `${SUFFIX}::test_expired_prefix_does_not_block_full_live_window`,
      `${SUFFIX}::test_repeated_ttl_bursts_do_not_accumulate_expired_rows`,
      `${SUFFIX}::test_prefix_cleanup_stops_before_retained_history`,
      `${SUFFIX}::test_unverifiable_rows_inside_snapshot_are_retained`,
      `${SUFFIX}::test_partial_compaction_does_not_split_tool_call_and_output`,
      `${SUFFIX}::test_partial_compaction_preserves_reasoning_and_its_follower`,
      `${COMPACTION}::test_automatic_compaction_rollback_budget[True]`,
      `${ENCRYPTED}::test_encrypted_compaction_skips_unencrypted_stored_history`,
    ],
  "need _pop_item_with_validation, a private method of SQLiteSession; EncryptedSession asks no other store for it": [
    `${ENCRYPTED}::test_encrypted_pop_wrong_key_preserves_recoverable_history`,
    `${ENCRYPTED}::test_encrypted_pop_rechecks_authentication_after_expired_tail`,
    `${ENCRYPTED}::test_encrypted_pop_authentication_is_atomic_with_concurrent_mutations`,
    `${ENCRYPTED}::test_encrypted_pop_wrong_key_preserves_row_identity`,
    `${ENCRYPTED}::test_encrypted_pop_cancellation_waits_for_authentication_rollback`,
  ],
  "take a negative limit for none, as only SQLite does": [
    `${ENCRYPTED}::test_encrypted_session_scan_budget_rejects_negative_limit_before_read`,
  ],
};
