import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Commands from "../../src/tools/Commands.ts"

const deny = (line: string, command: string, more: Partial<Commands.Wanted> = {}) =>
  Commands.some(Commands.fromLine(line), { command, ...more })
const allow = (line: string, command: string, more: Partial<Commands.Wanted> = {}) =>
  Commands.every(Commands.fromLine(line), { command, ...more })

describe("Commands", () => {
  it("c8 a denial finds its program wherever the line hides it", () => {
    const lines = [
      "rm -rf /",
      "ls; rm x",
      "ls && rm x",
      "ls | xargs rm",
      "ls || rm x &",
      "echo $(rm x)",
      'echo "a $(rm x) b"',
      "echo `rm x`",
      "diff <(rm x) y",
      "(rm x)",
      "{ rm x; }",
      "if true; then rm x; fi",
      "for f in a; do rm $f; done",
      "env A=1 rm x",
      "A=1 rm x",
      "sudo -u root rm x",
      "nice -n 10 timeout -k 5 10 rm x",
      "nohup rm x",
      "sh -c 'rm x'",
      "bash -lc \"sh -c 'rm x'\"",
      "eval rm x",
      "find . -name y -exec rm {} \\;",
      "/bin/rm x",
      "\\rm x",
      "r'm' x",
      "ls\nrm x",
      "ls # c\nrm x",
      "busybox rm x",
      "exec rm x"
    ]
    for (const line of lines) assert.strictEqual(deny(line, "rm"), "yes", line)
  })

  it("c8 a denial counts what it cannot read as a match", () => {
    const lines = [
      "$X y",
      "RM x",
      "r* x",
      "/tmp/rm x",
      "rm.exe x",
      "cat <<E\nrm\nE",
      "f() { rm x; }",
      "echo 'open",
      "$'\\x72m' x",
      'sh -c "$X"',
      "env -S 'rm x'",
      "ssh host rm x",
      "alias ls=rm",
      "a\u0007b",
      "",
      "PATH=/tmp; ls",
      "echo ${X:-$(rm y)}"
    ]
    for (const line of lines) assert.strictEqual(deny(line, "rm"), "unknown", line)
    for (const line of ["ls -l", "echo rm", "echo 'a; rm b'", "grep rm x # rm", "echo a\\;rm"]) {
      assert.strictEqual(deny(line, "rm"), "no", line)
    }
  })

  it("c8 an allowance needs every command of the line, and nothing that changes what it does", () => {
    for (const line of [
      "git status",
      "/usr/bin/git status",
      "env git status",
      "timeout 5 git log",
      "sh -c 'git status'",
      "git log 2>&1",
      "git log > /dev/null",
      "git a && git b | git c",
      'git commit -m "a; b"'
    ]) {
      assert.strictEqual(allow(line, "git"), "yes", line)
    }
    for (const line of [
      "git status; ls",
      "git log | sh",
      "sudo git push",
      "find . -exec git x \\;",
      "xgit",
      "echo git"
    ]) {
      assert.strictEqual(allow(line, "git"), "no", line)
    }
    for (const line of [
      "./git status",
      "GIT status",
      "LD_PRELOAD=x git status",
      "env PATH=/tmp git status",
      "PATH=/tmp; git status",
      "git log > notes",
      "(git log) > notes",
      "{ git log; } >> notes",
      "git log &> notes",
      "> notes",
      "git() { x; }; git",
      "$git",
      ""
    ]) {
      assert.notStrictEqual(allow(line, "git"), "yes", line)
    }
  })

  it("c8 arguments are compared word by word, the first ones or any", () => {
    assert.strictEqual(allow("git status -s", "git", { args: ["status"] }), "yes")
    assert.strictEqual(allow("git -C x status", "git", { args: ["status"] }), "no")
    assert.strictEqual(allow("git $X", "git", { args: ["status"] }), "unknown")
    assert.strictEqual(deny("git push --force", "git", { argsAny: ["--force", "-f"] }), "yes")
    assert.strictEqual(deny("git push", "git", { argsAny: ["--force", "-f"] }), "no")
    assert.strictEqual(deny("git push $X", "git", { argsAny: ["--force"] }), "unknown")
    assert.strictEqual(deny("git push '--force'", "git", { argsAny: ["--force"] }), "yes")
    assert.strictEqual(allow("npm run x", "np*"), "yes")
  })

  it("c8 a list of words is one command, a text with args beside it a program", () => {
    const some = (args: Parameters<typeof Commands.of>[0], params?: ReadonlyArray<string>) =>
      Commands.some(Commands.of(args, params), { command: "rm" })
    assert.strictEqual(some({ command: ["rm", "a b"] }), "yes")
    assert.strictEqual(some({ command: ["sh", "-c", "ls; rm x"] }), "yes")
    assert.strictEqual(some({ command: ["echo", "; rm x"] }), "no")
    assert.strictEqual(some({ command: "echo", args: ["; rm x"] }), "no")
    assert.strictEqual(some({ command: "env", args: ["rm"] }), "yes")
    assert.strictEqual(some({ command: "ls", args: "rm" }), "unknown")
    assert.strictEqual(some({ command: 3 }), "unknown")
    assert.strictEqual(some({ line: "rm" }), "unknown")
    assert.strictEqual(some({ line: "rm" }, ["line"]), "yes")
  })

  const pieces = [
    "rm",
    " ",
    ";",
    "'",
    '"',
    "$(",
    ")",
    "`",
    "\\",
    "&",
    "|",
    ">",
    "<",
    "x",
    "\n",
    "{",
    "}",
    "=",
    "#",
    "(",
    "$"
  ]
  it.effect.prop(
    "c8 reading a line is total, and what no denial sees no allowance passes",
    { given: Schema.Array(Schema.Literals(pieces)), text: Schema.String },
    ({ given, text }) =>
      Effect.sync(() => {
        for (const line of [given.join(""), text]) {
          const read = Commands.fromLine(line)
          for (const command of ["rm", "x"]) {
            if (Commands.every(read, { command }) === "yes") {
              assert.strictEqual(Commands.some(read, { command }), "yes", line)
            }
          }
        }
      }),
    { arbitrary: { runs: 500 } }
  )

  it("c8 a deep or long line ends, and is not read", () => {
    assert.strictEqual(deny("$(".repeat(5000), "rm"), "unknown")
    assert.strictEqual(deny(`echo ${"a".repeat(70_000)}`, "rm"), "unknown")
    assert.strictEqual(deny(`${"(".repeat(40)}rm x${")".repeat(40)}`, "rm"), "unknown")
    assert.strictEqual(deny(`${"env ".repeat(5000)}ls`, "rm"), "unknown")
  })
})
