/**
 * The weights as base64, where the program is one file: a bundler puts them here (see `assets/rolldown.mjs`). In the source and in
 * the built package there are none, and the file beside the package is read.
 */
export const base64: string | undefined = undefined
