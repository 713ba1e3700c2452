/** Exit codes of the command: scripts rely on them. */
export const completed = 0
/** The run failed. */
export const failed = 1
/** Usage or configuration. */
export const usage = 2
/** The transcript could not be opened or written. */
export const transcript = 3
export const cancelled = 130
