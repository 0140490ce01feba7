import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Test files and folders that take half a minute or more, and so must not be the last ones to start. */
const LONG = [
  "test/clients/python",
  "test/contract/storage-provider.mongodb",
  "test/contract/storage-provider.sqlite",
  "test/contract/storage-provider.postgres",
  "test/browser/console-",
  "test/browser/docs",
  "test/fault/mongo-failures",
  "test/examples/",
  "test/simulation/",
  "test/contract/model.",
  "test/fault/clock-chaos",
  "test/interop/",
  "test/clients/adapters/ui-stream",
  "test/contract/",
  "test/fault/",
];

/**
 * Starts long files first, so that no worker is still busy with one while the others have nothing to do. Vitest orders
 * files by how long they took the last time. On a fresh clone it knows only their sizes, and the longest tests are in
 * small files.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification): number => {
      const path = relative(this.ctx.config.root, file.moduleId);
      const found = LONG.findIndex((prefix) => path.startsWith(prefix));
      return found < 0 ? LONG.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
