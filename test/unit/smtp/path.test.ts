import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPaths } from "../../../src/smtp/path.ts";

describe("the way out", () => {
  const sources = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"];
  const paths = createPaths({ sourceAddresses: sources });

  it("stays the same for a site and spreads over sites", () => {
    const used = new Set<unknown>();
    for (let i = 0; i < 100; i++) {
      const path = paths.to(`site${i}`, "198.51.100.1");
      assert.equal(paths.to(`site${i}`, "198.51.100.2"), path);
      used.add(path?.localAddress);
    }
    assert.deepEqual(used, new Set(sources.slice(0, 3)));
  });

  it("is of the family of the target, or there is none", () => {
    assert.equal(paths.to("s", "2001:db8::9")?.name, "2001:db8::1");
    assert.equal(createPaths({ sourceAddresses: ["192.0.2.1"] }).to("s", "2001:db8::9"), undefined);
    const direct = createPaths({ sourceAddresses: [] }).to("s", "192.0.2.9");
    assert.deepEqual([direct?.name, direct?.localAddress], ["direct", null]);
  });
});
