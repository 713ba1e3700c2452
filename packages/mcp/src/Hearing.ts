/** What a server says beside its answers, and whom it reaches: the runs whose calls are out, or a log. */
import * as Json from "@settle/core/model/Json"
import * as Calls from "./Calls.ts"
import type * as Link from "./Link.ts"

/** Lines of its error output that one call shows. */
const stderrShown = 200

/** `changed` hears that the list of tools is another one (M14). */
export const taps = (server: string, calls: Calls.Calls, changed: () => void): Link.Taps => {
  let noise = 0
  let stderr = 0
  let begun = 0
  return {
    notification: (method, params) => {
      switch (method) {
        case "notifications/progress":
          calls.progress(params)
          return true
        case "notifications/message": {
          const logger =
            typeof params["logger"] === "string" ? `${server}/${Json.wellFormed(params["logger"])}` : server
          calls.log(Calls.level(params["level"]), logger, Json.fromUnknown(params["data"]))
          return true
        }
        case "notifications/tools/list_changed":
          changed()
          return true
        default:
          return false
      }
    },
    answered: calls.answered,
    stderr: (line) => {
      if (calls.begun() !== begun) {
        begun = calls.begun()
        stderr = 0
      }
      stderr++
      if (stderr <= stderrShown) calls.log("debug", `${server}/stderr`, line)
      else if (stderr === stderrShown + 1) calls.log("debug", `${server}/stderr`, "[more is not shown for this call]")
    },
    noise: (line) => {
      noise++
      if (noise === 1) {
        calls.log(
          "warning",
          server,
          `wrote a line on stdout that is not MCP; such lines are skipped and counted: ${line}`
        )
      }
    }
  }
}
