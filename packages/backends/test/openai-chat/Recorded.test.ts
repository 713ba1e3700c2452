import * as Facts from "../Facts.ts"
import * as Reading from "./Reading.ts"

Facts.suite({ protocol: "openai-chat", atLeast: 31, read: Reading.read, ended: /\[DONE\]/ })
