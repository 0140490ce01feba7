import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child, run } from "../support/child.js";
import { ROOT } from "../support/toolchain.js";
import { repositoryFiles } from "./shell.js";

const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

describe("the version", () => {
  it("is that of the program, of its API document and of both clients", async () => {
    expect((await run(["--version"])).stdout).toBe(`${version}\n`);
    const { child, httpUrl } = await Child.serve("--storage", "memory:");
    const { info } = (await (await fetch(`${httpUrl}/openapi.json`)).json()) as { info: { version: string } };
    child.kill("SIGTERM");
    await child.ended();
    expect(info.version).toBe(version);
    expect(JSON.parse(read("clients/typescript/package.json")).version).toBe(version);
    expect(/^version = "(.*)"$/m.exec(read("clients/python/pyproject.toml"))?.[1]).toBe(version);
    const { packages } = JSON.parse(read("package-lock.json"));
    expect([packages[""].version, packages["clients/typescript"].version]).toEqual([version, version]);
  });

  it("has a section in the changelog, which is the newest one", () => {
    const [unreleased, newest] = [...read("CHANGELOG.md").matchAll(/^## \[(.+?)\]/gm)].map(([, name]) => name);
    expect([unreleased, newest]).toEqual(["Unreleased", version]);
  });

  it("is what the documents show", () => {
    const pages = repositoryFiles().filter((path) => /^(README|docs\/.*|examples\/.*|clients\/.*)\.md$/.test(path));
    const shown = pages.flatMap((page) =>
      [
        ...read(page).matchAll(
          /\bsession-pool (\d+\.\d+\.\d+): gRPC on|\bsession-pool(?:-client)?-(\d+\.\d+\.\d+)\.tgz/g,
        ),
      ].map(([, started, packed]) => `${page}: ${started ?? packed}`),
    );
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.filter((each) => !each.endsWith(`: ${version}`))).toEqual([]);
  });
});
