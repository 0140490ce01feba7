// Runs mutation testing: npm run test:mutation [-- file…]. See README.md in this folder.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MUTATED_FOLDERS } from "./tests.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "../..");
const RESULTS = join(ROOT, "node_modules/.cache/mutation");
const STRYKER = join(HERE, "node_modules/@stryker-mutator/core/bin/stryker.js");

process.chdir(ROOT);
mkdirSync(RESULTS, { recursive: true });
if (!existsSync(STRYKER)) run("npm", ["ci"], { cwd: HERE });

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith("-"));
const chosen = args.filter((arg) => !arg.startsWith("-"));
const files = chosen.length > 0 ? chosen : MUTATED_FOLDERS.flatMap(filesUnder);
const failed = files.filter((file) => !mutate(file));
printScores();
for (const file of failed) console.error(`StrykerJS failed on ${file}`);
process.exitCode = failed.length > 0 ? 1 : 0;

function mutate(file) {
  if (!existsSync(file)) throw new Error(`${file} does not exist; give paths from the repository's root`);
  console.log(`\n==> ${file}`);
  const options = ["run", "test/mutation/stryker.config.mjs", "--mutate", file, "--incrementalFile", resultOf(file)];
  return run(process.execPath, [STRYKER, ...options, ...flags], { env: { ...process.env, MUTATED: file } });
}

function run(command, args, options) {
  return spawnSync(command, args, { stdio: "inherit", ...options }).status === 0;
}

function filesUnder(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts"));
  return names.sort().map((name) => `${folder}/${name}`);
}

function resultOf(file) {
  return join(RESULTS, `${file.replaceAll("/", "~")}.json`);
}

/** Prints the score of each file that was ever run. */
function printScores() {
  console.log("\nnoticed / mutants (score): file");
  for (const name of readdirSync(RESULTS).sort()) {
    const { files: reports } = JSON.parse(readFileSync(join(RESULTS, name), "utf8"));
    for (const [file, { mutants }] of Object.entries(reports)) {
      const counts = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length;
      const noticed = counts("Killed", "Timeout");
      const all = noticed + counts("Survived", "NoCoverage");
      if (all > 0) console.log(`${noticed} / ${all} (${((noticed / all) * 100).toFixed(1)} %): ${file}`);
    }
  }
}
