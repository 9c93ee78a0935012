import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { portalPolicy } from "../../../../src/api/pages/portal-page.ts";

const connectOf = (uploadOrigin: string | null) =>
  portalPolicy(uploadOrigin)
    .split("; ")
    .find((part) => part.startsWith("connect-src"));

describe("the policy of the portal's pages", () => {
  it("lets them send files to object storage, and nowhere else", () => {
    assert.equal(connectOf(null), "connect-src 'self'");
    for (const origin of ["https://bucket.s3.example", "http://127.0.0.1:9000"])
      assert.equal(connectOf(origin), `connect-src 'self' ${origin}`);
  });

  it("names no IPv6 address, which browsers take for a fault of the policy", () => {
    assert.equal(connectOf("http://[2001:db8::1]:9000"), "connect-src 'self'");
  });
});
