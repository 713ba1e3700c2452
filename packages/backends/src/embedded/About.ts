/** What the built-in model is called, and what it is. Apart from the model, so that saying so loads nothing. */

/** Goes wherever the model shows. */
export const label = "a built-in demonstration model of 0.8 million parameters"
export const name = "demonstration-0.8m"
/** Tokens it can look at, prompt and reply together. A prompt is clipped to fit and never refused. */
export const contextWindow = 2048
