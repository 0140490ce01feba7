// Makes .biome.imports.json of the tables "Who may import what" in docs/architecture.md, so that Biome refuses every
// import that they do not allow: node scripts/import-rules.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ARCHITECTURE = "docs/architecture.md";
const SETTINGS = ".biome.imports.json";

/**
 * Returns a rule for each file and folder that the tables name. Its paths begin at the root of the repository; `/*`
 * stands for the files of a folder, and `/**` for everything below it.
 */
export function readRules(markdown) {
  const section = markdown.split(/^## /m).find((text) => text.startsWith("Who may import what\n")) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  if (rows.length === 0) throw new Error(`${ARCHITECTURE} has no table "Who may import what"`);
  return rows.flatMap((row) => {
    const [, places, imports, packages] = row.split("|").map((cell) => cell.trim());
    const [may, mayNot = ""] = imports.split("; not ");
    const rule = {
      everything: may === "everything",
      may: may === "everything" || may === "nothing" ? [] : namesIn(may).map(pathOf),
      mayNot: namesIn(mayNot).map(pathOf),
      packages: packages.startsWith("no ") ? [] : namesIn(packages),
      noPackages: packages.startsWith("no ") ? namesIn(packages.slice(3)) : [],
    };
    return namesIn(places).map((name) => ({ place: pathOf(name), ...rule }));
  });
}

/** Returns the settings with which Biome refuses the imports that the tables do not allow, one place on each line. */
export function settingsText(markdown) {
  const overrides = overridesOf(readRules(markdown)).map((override) => `    ${JSON.stringify(override)}`);
  return `{\n  "overrides": [\n${overrides.join(",\n")}\n  ]\n}\n`;
}

function overridesOf(rules) {
  const owned = new Set(rules.flatMap(({ packages }) => packages));
  return rules
    .filter(({ everything }) => !everything)
    .map((rule) => {
      const exceptions = rules.filter(({ place }) => place !== rule.place && isIn(rule.place, place));
      const noPackages = [...[...owned].filter((name) => !rule.packages.includes(name)), ...rule.noPackages];
      const patterns = [
        { group: importsToRefuse(rule), message: `${ARCHITECTURE} says what ${rule.place} may import` },
        { group: noPackages.flatMap(modulesOf), message: `${ARCHITECTURE} says which folders may import this package` },
      ];
      const noRestrictedImports = { level: "error", options: { patterns } };
      const includes = [rule.place, ...exceptions.map(({ place }) => `!${place}`)];
      return { includes, linter: { rules: { style: { noRestrictedImports } } } };
    });
}

/**
 * Returns patterns of the paths that files of one folder may not import: first everything outside of it, then, each
 * with `!`, what is allowed, and then exceptions of that. A later pattern decides. A single file may not even import
 * those beside it.
 */
function importsToRefuse({ place, may, mayNot }) {
  const pathTo = (target) => {
    const path = posix.relative(posix.dirname(place), target).replace(/\.tsx?$/, ".js");
    if (/^(\.\.\/)+\*\*$/.test(path)) throw new Error(`${target} has ${place} in it: name its folders one by one`);
    if (path === "**") return "./*/**";
    return path.startsWith(".") ? path : `./${path}`;
  };
  const others = place.endsWith("*") ? "./*/**" : "./**";
  return ["../**", others, ...may.map((path) => `!${pathTo(path)}`), ...mayNot.map(pathTo), "./../**"];
}

function modulesOf(name) {
  return name.includes("*") ? [name] : [name, `${name}/**`];
}

/** Returns the names in backticks. `a/{b,c}` stands for `a/b` and `a/c`. */
function namesIn(cell) {
  const rest = cell.replace(/`([^`]+)`(, )?/g, "");
  if (rest !== "") throw new Error(`"${cell}" is not a list of names in backticks`);
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, name]) => {
    const [, before, choices, after] = /^(.*)\{(.*)\}(.*)$/.exec(name) ?? [];
    return choices ? choices.split(",").map((choice) => before + choice + after) : [name];
  });
}

/** Returns the path of a name in the tables, where names are those of src, except for gen and clients. */
function pathOf(name) {
  const path = /^(gen|clients)\b/.test(name) ? name : `src/${name}`;
  return /\.ts$|\*$/.test(path) ? path : `${path}/*`;
}

/** Whether a place is below a folder. */
function isIn(folder, place) {
  if (folder.endsWith("/**")) return place.startsWith(folder.slice(0, -2));
  return folder.endsWith("/*") && posix.dirname(place) === posix.dirname(folder);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(ROOT, SETTINGS), settingsText(readFileSync(join(ROOT, ARCHITECTURE), "utf8")));
}
