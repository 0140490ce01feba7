// Refuses a release unless the owner of the project has said that these names of packages are theirs: NPM_NAMES, with
// spaces between the names, and PYPI_NAME are variables of the repository. Anybody could have registered other names.
import { readFileSync } from "node:fs";

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const npmNames = ["package.json", "clients/typescript/package.json"].map((path) => JSON.parse(read(path)).name);
const [, pypiName] = /^name = "(.+)"$/m.exec(read("clients/python/pyproject.toml"));

const { NPM_NAMES = "", PYPI_NAME = "" } = process.env;
const claimed = NPM_NAMES.split(" ");
const unclaimed = npmNames.filter((name) => !claimed.includes(name)).map((name) => `${name} is not in NPM_NAMES`);
if (PYPI_NAME !== pypiName) unclaimed.push(`PYPI_NAME is not ${pypiName}`);
for (const problem of unclaimed) console.error(`Not published: ${problem}`);
process.exitCode = unclaimed.length > 0 ? 1 : 0;
