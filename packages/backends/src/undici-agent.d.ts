/** The dispatcher alone: undici's index also loads fetch, caches and web sockets, which costs a cold start 60 ms. */
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici"
  export default Agent
}
