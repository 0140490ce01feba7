import manifest from "../package.json" with { type: "json" };

/** Of the package. */
export const VERSION: string = manifest.version;
