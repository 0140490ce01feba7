import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import protobuf from "highlight.js/lib/languages/protobuf";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, markdown, php, protobuf },
  ...{ python, ruby, rust, sql, swift, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
hljs.registerAliases(["tsx", "mts", "cts"], { languageName: "typescript" });
hljs.registerAliases(["jsonc", "json5", "ndjson", "jsonl"], { languageName: "json" });
hljs.registerAliases(["console", "shell", "shellsession", "zsh"], { languageName: "bash" });
hljs.registerAliases(["toml"], { languageName: "ini" });

/** Longer code, and code with a longer line, is not highlighted, because that would block the page. */
const MAX_CHARACTERS = 20_000;
const MAX_LINE_CHARACTERS = 2000;

/**
 * Returns the code as HTML: the highlighter's spans around escaped text. Undefined when the language is unknown or the
 * code is too long.
 */
export function highlighted(code: string, language: string): string | undefined {
  if (code.length > MAX_CHARACTERS || hljs.getLanguage(language) === undefined) return undefined;
  if (code.split("\n").some((line) => line.length > MAX_LINE_CHARACTERS)) return undefined;
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
