import { assert, describe, it } from "@effect/vitest"
import * as Hosts from "../../src/tools/Hosts.ts"

describe("Hosts", () => {
  it("c8 a host is small letters, without port, brackets kept, one dot at the end dropped", () => {
    const read = [
      ["https://Example.COM:8443/a?b#c", "example.com"],
      ["http://example.com.", "example.com"],
      ["http://[::1]:80/x", "[::1]"],
      ["http://0x7f.1/", "127.0.0.1"],
      ["http://good.com#@evil.com", "good.com"]
    ] as const
    for (const [url, host] of read) assert.strictEqual(Hosts.parse(url), host, url)
  })

  it("c8 what readers of URLs read in different ways cannot be told", () => {
    const unreadable = [
      "ftp://a.com",
      "//a.com",
      "a.com",
      "http:///a.com",
      "http:\\\\a.com",
      "http://user@a.com",
      "http://good.com\\@evil.com",
      "http://good.com;@evil.com",
      "http://a%2ecom/",
      "http://ex\u00e4mple.com/",
      "http://a.com/\nHost: b.com",
      "http://a.com/ x",
      "http://:80/",
      "http://a..",
      7,
      null,
      undefined
    ]
    for (const url of unreadable) assert.isUndefined(Hosts.parse(url), String(url))
  })

  it("c8 a pattern is a host or everything below one", () => {
    const of = (pattern: string, url: string) => Hosts.matches(pattern, { url })
    assert.strictEqual(of("Example.com", "https://example.com/x"), "yes")
    assert.strictEqual(of("example.com", "https://a.example.com/x"), "no")
    assert.strictEqual(of("*.example.com", "https://a.b.example.com/x"), "yes")
    assert.strictEqual(of("*.example.com", "https://example.com/x"), "no")
    assert.strictEqual(of("*.example.com", "https://notexample.com/x"), "no")
    assert.strictEqual(of("::1", "http://[::1]/"), "yes")
    assert.strictEqual(of("example.com", "https://user@example.com"), "unknown")
    assert.strictEqual(Hosts.matches("example.com", {}), "unknown")
    for (const bad of ["", "a b", "https://a.com", "a.com/x", "*", "a.com:80", "[::1]:80", "*.*.com"]) {
      assert.isDefined(Hosts.fault(bad), bad)
    }
    for (const good of ["a.com", "*.a.com", "10.0.0.1", "::1", "[::1]", "localhost"]) {
      assert.isUndefined(Hosts.fault(good), good)
    }
  })
})
