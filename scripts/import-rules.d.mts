/** What one file or the files of one folder may import. Paths begin at the root of the repository. */
export interface ImportRule {
  /** A file, or a folder followed by `/*`, or by `/**` with everything below it. */
  readonly place: string;
  readonly everything: boolean;
  readonly may: readonly string[];
  /** Exceptions of `may`. */
  readonly mayNot: readonly string[];
  /** Packages that no place may import without naming them. */
  readonly packages: readonly string[];
  readonly noPackages: readonly string[];
}

export function readRules(markdown: string): ImportRule[];
export function settingsText(markdown: string): string;
