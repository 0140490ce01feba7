import { readFileSync } from "node:fs";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { CAN_PIN } from "./processes.js";
import { hasMet, type Measured, type Row } from "./row.js";

export interface Result {
  readonly row: Row;
  readonly measured: Measured;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly pinned: boolean;
  readonly versions: Readonly<Record<string, string>>;
}

const PACKAGES = ["@grpc/grpc-js", "@bufbuild/protobuf", "libsql", "mongodb", "pg"];

export function describeMachine(version: string): Machine {
  const versions = PACKAGES.map((name) => [name, packageVersion(name)]);
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    pinned: CAN_PIN,
    versions: { "session-pool": version, node: process.version.slice(1), ...Object.fromEntries(versions) },
  };
}

/** Reads a package's version. The path is relative to the bundle, which is in a folder of node_modules. */
function packageVersion(name: string): string {
  const manifest = readFileSync(new URL(`../../${name}/package.json`, import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

export function formatMachine({ cpu, cores, memoryGib, system, pinned, versions }: Machine): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${cpu}, ${cores} cores, ${memoryGib} GiB, ${system}`,
    programs.join(", "),
    pinned
      ? "Server and generator have a core each"
      : "Processes are not pinned to cores, because taskset is missing or there is only one core",
  ].join("\n");
}

/** Returns the line of one row. It is printed as soon as the row is measured. */
export function formatResult({ row, measured }: Result): string {
  const verdict = measured.kind === "skipped" ? "skipped" : hasMet(row.target, measured) ? "ok" : "missed";
  const target = "atLeast" in row.target ? `>= ${row.target.atLeast.toFixed(2)}` : `< ${row.target.underMib} MiB`;
  return [
    row.id.padEnd(20),
    figureOf(measured).padStart(8),
    target.padStart(10),
    verdict.padEnd(8),
    `${row.what}, against ${row.against}: ${detailOf(measured)}`,
  ].join("  ");
}

function figureOf(measured: Measured): string {
  if (measured.kind === "skipped") return "-";
  return measured.kind === "size" ? `${Math.round(measured.mib)} MiB` : measured.comparison.ratio.toFixed(2);
}

function detailOf(measured: Measured): string {
  if (measured.kind === "skipped") return measured.why;
  if (measured.kind === "size") return measured.note;
  const { by, rate, baselineRate, ratios, otherRatio } = measured.comparison;
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  const other = by === "clock" ? "by the processor" : "by the clock";
  return [
    `${roundRate(rate)} of ${roundRate(baselineRate)} ${measured.unit} by the ${by}`,
    `${ratios.length} pairs from ${least} to ${most}`,
    ...(otherRatio === undefined ? [] : [`${otherRatio.toFixed(2)} ${other}`]),
    ...(measured.note === undefined ? [] : [measured.note]),
  ].join(", ");
}

function roundRate(rate: number): string {
  return Math.round(rate).toLocaleString("en-US");
}

export function toJson(machine: Machine, results: readonly Result[]): string {
  const rows = results.map(({ row, measured }) => {
    const { id, what, against, target } = row;
    return { id, what, against, target, met: hasMet(target, measured) ?? null, measured };
  });
  return JSON.stringify({ machine, rows }, null, 2);
}
