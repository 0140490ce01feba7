/** A JSON Schema as in OpenAPI 3.1. */
export type Schema = { readonly [keyword: string]: unknown };
