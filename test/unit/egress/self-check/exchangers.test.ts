import assert from "node:assert/strict";
import type { NetworkInterfaceInfo } from "node:os";
import { describe, it } from "node:test";
import { dialAddressFor, outboundFamilyOf } from "../../../../src/egress/self-check/exchangers.ts";

const at = (address: string, internal = false) => ({ address, internal }) as NetworkInterfaceInfo;
const LOOPBACK = [at("127.0.0.1", true), at("::1", true)];

describe("how connections go out", () => {
  it("is by IPv6 on a host that has nothing else, by IPv4 on all others", () => {
    assert.equal(outboundFamilyOf({ lo: LOOPBACK }), 4);
    assert.equal(outboundFamilyOf({ lo: LOOPBACK, eth0: [at("192.0.2.1"), at("2001:db8::1")] }), 4);
    assert.equal(outboundFamilyOf({ lo: LOOPBACK, eth0: [at("fe80::1")] }), 4);
    assert.equal(outboundFamilyOf({ lo: LOOPBACK, eth0: [at("fe80::1"), at("2001:db8::1")] }), 6);
    assert.equal(outboundFamilyOf({ lo: undefined }), 4);
  });

  it("decides which address of an exchanger is dialled, where no source address or proxy does", () => {
    const both = { site: "google", host: "h", addresses: ["192.0.2.1", "2001:db8::1"] };
    const proxy = { host: "proxy.test", port: 1080, credentials: null, heloName: "h" };
    const by = (localAddress: string | null, own: 4 | 6, through: typeof proxy | null = null) =>
      dialAddressFor({ localAddress, proxy: through }, both, own);
    assert.deepEqual([by(null, 4), by(null, 6)], ["192.0.2.1", "2001:db8::1"]);
    assert.deepEqual([by("192.0.2.9", 6), by("2001:db8::9", 4)], ["192.0.2.1", "2001:db8::1"]);
    assert.equal(by(null, 6, proxy), "192.0.2.1");
    assert.equal(
      dialAddressFor({ localAddress: null, proxy: null }, { ...both, addresses: ["2001:db8::1"] }, 4),
      null,
    );
  });
});
