import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mayDial } from "../../../src/platform/public-address.ts";

describe("whom to dial", () => {
  it("refuses private addresses unless they are allowed", () => {
    for (const address of [
      "127.0.0.1",
      "10.0.0.1",
      "169.254.169.254",
      "::1",
      "fd00::1",
      "::ffff:127.0.0.1",
      // IPv4-compatible, long deprecated: `::10.0.0.1` as the DNS hands it out.
      "::a00:1",
      "::7f00:1",
      "64:ff9b::a00:1",
      "2002:a00:1::",
      "100:0:0:1::1",
    ]) {
      assert.equal(mayDial(address, false), false, address);
      assert.equal(mayDial(address, true), true, address);
    }
    assert.equal(mayDial("8.8.8.8", false), true);
    assert.equal(mayDial("2606:4700::1111", false), true);
  });

  it("refuses what is no single host, always", () => {
    for (const address of [
      "0.0.0.0",
      "::",
      "::ffff:0.0.0.0",
      "255.255.255.255",
      "224.0.0.1",
      "ff02::1",
      "",
      "mx.test",
    ])
      assert.equal(mayDial(address, true), false, address);
  });
});
