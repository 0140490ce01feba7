/**
 * The names of the tags with which Claude Code and Codex mark what they, not the user, put into a user's message. Each
 * stands at the beginning of a text.
 */
const TAGS: ReadonlySet<string> = new Set([
  "INSTRUCTIONS",
  "agents_md",
  "apps_instructions",
  "bash-stderr",
  "bash-stdout",
  "collaboration_mode",
  "environment_context",
  "environments_instructions",
  "ide_diagnostics",
  "ide_opened_file",
  "ide_selection",
  "local-command-caveat",
  "local-command-stderr",
  "local-command-stdout",
  "permissions",
  "plugins_instructions",
  "post-tool-use-hook",
  "session-start-hook",
  "skill",
  "skills_instructions",
  "subagent_notification",
  "system-reminder",
  "system_reminder",
  "task-notification",
  "turn_aborted",
  "user-prompt-submit-hook",
  "user_instructions",
  "user_shell_command",
]);

/** The name of the tag that a text begins with, if a program and not the user has written it; otherwise undefined. */
export function injectedTag(text: string): string | undefined {
  const [, tag = ""] = /^\s*<([A-Za-z][\w-]*)[\s>]/.exec(text) ?? [];
  if (TAGS.has(tag)) return tag;
  if (/^\s*# AGENTS\.md instructions/.test(text)) return "agents_md";
  return /^\s*\[Request interrupted by user/.test(text) ? "interrupted" : undefined;
}
