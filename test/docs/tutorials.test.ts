import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildClientInto } from "../../scripts/build.mjs";
import { freePort } from "../support/free-port.js";
import { cached, describeWith, install, needPrograms, PROTO_FOLDER, ROOT, run } from "../support/toolchain.js";
import { type Step, stepsOf, Terminals } from "./tutorial.js";

interface Tutorial {
  readonly page: string;
  /** The folder of its programs in examples/. */
  readonly examples: string;
  /** What the reader's folder gets by the commands that install packages. */
  readonly installed: readonly string[];
  readonly programs: readonly string[];
  /** Puts what the commands use into the folder `session-pool`, beside that of the reader. */
  readonly prepareClone: (clone: string) => Promise<void>;
  /** What the packages depend on. */
  readonly inputs: readonly string[];
}

await describeTutorial({
  page: "docs/tutorials/chat-backend-in-python.md",
  examples: "examples/tutorial-python",
  installed: [".venv"],
  programs: ["python3", "curl"],
  inputs: [join(ROOT, "clients/python"), PROTO_FOLDER],
  prepareClone: async (clone) => {
    // A copy, because building the package must not write into the source.
    cpSync(join(ROOT, "clients/python"), join(clone, "clients/python"), { recursive: true });
    cpSync(PROTO_FOLDER, join(clone, "proto"), { recursive: true });
    cpSync(join(ROOT, "LICENSE"), join(clone, "LICENSE"));
  },
});

await describeTutorial({
  page: "docs/tutorials/chat-backend-in-typescript.md",
  examples: "examples/tutorial-typescript",
  installed: ["node_modules", "package.json"],
  programs: ["curl"],
  inputs: [join(ROOT, "clients/typescript"), join(ROOT, "gen")],
  prepareClone: async (clone) => {
    // What `npm pack --workspace session-pool-client` packs, but built here, because other tests pack it, too.
    const client = join(clone, "clients/typescript");
    const { scripts, ...manifest } = JSON.parse(readFileSync(join(ROOT, "clients/typescript/package.json"), "utf8"));
    expect(scripts.prepack).toContain("build.mjs");
    mkdirSync(client, { recursive: true });
    await buildClientInto(join(client, "dist"));
    writeFileSync(join(client, "package.json"), JSON.stringify(manifest));
    const workspaces = ["clients/typescript"];
    writeFileSync(join(clone, "package.json"), JSON.stringify({ name: "session-pool", version: "0.0.0", workspaces }));
  },
});

function describeTutorial({ page, examples, installed, programs, prepareClone, inputs }: Tutorial): Promise<void> {
  const text = readFileSync(join(ROOT, page), "utf8");
  const steps = stepsOf(page, text.split("\n"));
  const commands = steps.flatMap((step) => (step.kind === "install" ? [step.text] : []));

  async function prepare(): Promise<string> {
    needPrograms("bash", ...programs);
    const version = await run("bash", ["-c", "python3 --version; node --version"]);
    return await cached("tutorial", [version, page, ...commands, ...inputs], async (folder) => {
      await prepareClone(join(folder, "session-pool"));
      await install("bash", ["-e", "-c", commands.join("\n")], { cwd: join(folder, "session-pool") });
    });
  }

  return describeWith(page, prepare, (prepared) => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-tutorial-"));
    const [clone, chat] = [join(folder, "session-pool"), join(folder, "chat")];
    let terminals: Terminals;

    beforeAll(async () => {
      mkdirSync(clone);
      mkdirSync(chat);
      for (const name of installed) symlinkSync(join(prepared, "chat", name), join(chat, name));
      terminals = new Terminals(chat, clone, {
        grpc: await freePort(),
        http: await freePort(),
        chat: await freePort(),
      });
    });

    afterAll(async () => {
      await terminals?.stop();
      rmSync(folder, { recursive: true });
    });

    it(`shows the programs of ${examples} as they are`, () => {
      const shown = steps.flatMap((step) => (step.kind === "program" ? [step.text] : []));
      const files = readdirSync(join(ROOT, examples)).map((name) => readFileSync(join(ROOT, examples, name), "utf8"));
      expect(shown.toSorted()).toEqual(files.toSorted());
    });

    it("prints what it shows, step by step", async () => {
      for (const step of steps) await follow(step);
    });

    async function follow(step: Step): Promise<void> {
      if (step.kind === "program") writeFileSync(join(chat, step.name), terminals.moved(step.text));
      if (step.kind === "commands") await terminals.follow(step.commands);
    }
  });
}
