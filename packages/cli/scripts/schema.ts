/** Writes `settle.schema.json` from the schema the command decodes with: `node -C source packages/cli/scripts/schema.ts`. */
import { writeFileSync } from "node:fs"
import { format } from "prettier"
import * as Config from "../src/Config.ts"

const text = await format(JSON.stringify(Config.jsonSchema()), { parser: "json", printWidth: 120 })
writeFileSync(new URL("../settle.schema.json", import.meta.url), text)
