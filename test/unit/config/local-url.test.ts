import assert from "node:assert/strict";
import { it } from "node:test";
import { isLoopbackHost, localUrl } from "../../../src/config/local-url.ts";

it("the URL of a server is one that this machine can open", () => {
  const urls: [string, string][] = [
    ["127.0.0.1", "http://127.0.0.1:8080"],
    ["192.0.2.7", "http://192.0.2.7:8080"],
    ["0.0.0.0", "http://127.0.0.1:8080"],
    ["::1", "http://[::1]:8080"],
    ["::", "http://[::1]:8080"],
    ["0:0:0:0:0:0:0:0", "http://[::1]:8080"],
    ["2001:DB8::1", "http://[2001:db8::1]:8080"],
    ["fe80::1%eth0", "http://[fe80::1%25eth0]:8080"],
  ];
  for (const [host, url] of urls) assert.equal(localUrl(host, 8_080), url, host);
});

it("a host is this machine by its own word only", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST"])
    assert.equal(isLoopbackHost(host), true, host);
  for (const host of ["", "127.0.0.1.example", "127.evil.example", "localhost.example", "[::2]", "0.0.0.0"])
    assert.equal(isLoopbackHost(host), false, host);
});
