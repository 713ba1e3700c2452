/** The version of this package, as its manifest has it; the bundle has no manifest beside it. */
export const version = "0.1.0"
