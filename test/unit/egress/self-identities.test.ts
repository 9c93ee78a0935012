import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSelfIdentities } from "../../../src/egress/self-identities.ts";
import { createEgressRoutes } from "../../../src/smtp/wire/egress-routes.ts";

describe("what we are called", () => {
  const heloName = "probe.example.com";
  const proxyOf = (host: string) => ({ host, port: 1_080, credentials: null, heloName: "out.example.com" });
  const paths = createEgressRoutes({
    heloName,
    sourceAddresses: [
      { address: "203.0.113.5", heloName: "five.example.com" },
      { address: "2001:db8::5", heloName },
    ],
    proxies: [proxyOf("198.51.100.7"), proxyOf("proxy.internal")],
  });
  const { at, heloName: ours } = createSelfIdentities(
    { heloName, mailFrom: "probe@example.com" },
    paths,
    () => null,
  );

  it("is the name and the address of the route, and of no other", () => {
    const known = paths.all.map(({ name }) => [name, at(name).heloName, at(name).addresses.join(" ")]);
    assert.deepEqual(known, [
      ["203.0.113.5", "five.example.com", "203.0.113.5"],
      ["2001:db8::5", heloName, "2001:db8::5"],
      ["proxy:198.51.100.7:1080", "out.example.com", "198.51.100.7"],
      ["proxy:proxy.internal:1080", "out.example.com", ""],
    ]);
  });

  it("has the sender that is given everywhere, unless it is the null sender", () => {
    const senderOf = (mailFrom: string, path: string) =>
      Object.entries(createSelfIdentities({ heloName, mailFrom }, paths, () => null).at(path)).find(
        ([key]) => key === "mailFrom",
      );
    for (const path of ["203.0.113.5", ""]) {
      assert.deepEqual(senderOf("probe@example.com", path), ["mailFrom", "probe@example.com"]);
      assert.equal(senderOf("", path), undefined);
    }
  });

  it("includes the address that servers see: behind NAT no route knows its own", () => {
    const seen = new Map([
      ["proxy:proxy.internal:1080", "203.0.113.9"],
      ["203.0.113.5", "203.0.113.5"],
    ]);
    const { at } = createSelfIdentities({ heloName, mailFrom: "" }, paths, (path) => seen.get(path) ?? null);
    assert.deepEqual(at("proxy:proxy.internal:1080").addresses, ["203.0.113.9"]);
    assert.deepEqual(at("203.0.113.5").addresses, ["203.0.113.5"]);
    assert.deepEqual(at("2001:db8::5").addresses, ["2001:db8::5"]);
  });

  it("is the deployment's where nothing went out", () => {
    assert.deepEqual([ours, at("").heloName, at("").addresses.length], [heloName, heloName, 0]);
  });
});
