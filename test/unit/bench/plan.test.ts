import assert from "node:assert/strict";
import { isIPv4 } from "node:net";
import { describe, it } from "node:test";
import {
  CONNECTIONS_PER_SITE,
  DOMAINS,
  existing,
  mxAddress,
  mxName,
  planRun,
  SITES,
} from "../../../bench/probing/plan.ts";
import { loadShaping } from "../../../src/egress/shaping.ts";
import { parseAddress } from "../../../src/verification/address/address.ts";
import { siteOf } from "../../../src/verification/lists/site.ts";

describe("the plan of a probing benchmark", () => {
  it("gives the engine no more connections than the bare clients take: the default of a site", () => {
    assert.equal(loadShaping().policyFor(null).maxConnections, CONNECTIONS_PER_SITE);
  });

  it("has as many sites, by the engine's own reckoning, as it says, each on an address of its own", () => {
    const sites = Array.from({ length: SITES }, (_, site) => site);
    assert.equal(new Set(sites.map((site) => siteOf([mxName(site)], "d0.r0.test").site)).size, SITES);
    const addresses = sites.map((site) => mxAddress(site));
    assert.equal(new Set(addresses).size, SITES);
    assert.ok(addresses.every((address) => isIPv4(address) && address.startsWith("127.0.")));
  });

  it("gives each world mail servers of its own, by name and by address", () => {
    const sites = Array.from({ length: SITES }, (_, site) => site);
    const places = [0, 1, 2].flatMap((world) =>
      sites.map((site) => [siteOf([mxName(site, world)], "d0.r0.test").site, mxAddress(site, world)]),
    );
    assert.equal(new Set(places.map(([site]) => site)).size, 3 * SITES);
    assert.equal(new Set(places.map(([, address]) => address)).size, 3 * SITES);
  });

  it("spreads the addresses evenly over sites and domains, each once, one in ten missing", () => {
    const plan = planRun(1, DOMAINS * 20);
    const perSite = new Map<number, number>();
    for (const { site } of plan) perSite.set(site, (perSite.get(site) ?? 0) + 1);
    assert.deepEqual([...new Set(perSite.values())], [plan.length / SITES]);
    assert.equal(new Set(plan.map(({ address }) => address)).size, plan.length);
    assert.equal(plan.filter(({ exists }) => !exists).length, plan.length / 10);
  });

  it("names real addresses that the sinks know or do not know", () => {
    for (const { address, exists } of planRun(2, DOMAINS * 10)) {
      assert.ok(parseAddress(address).ok, address);
      assert.equal(/^(exists|user)/.test(address), exists, address);
    }
  });

  it("gives as many that exist as are asked for", () => {
    const addresses = existing(3, 1_000);
    assert.equal(new Set(addresses).size, 1_000);
    const missing = new Set(
      planRun(3, 2_000)
        .filter(({ exists }) => !exists)
        .map(({ address }) => address),
    );
    assert.ok(addresses.every((address) => !missing.has(address)));
  });

  it("shares no domain between runs", () => {
    const domains = (run: number, count?: number) =>
      planRun(run, 2 * DOMAINS, count).map(({ address }) => address.split("@")[1]);
    assert.equal(new Set(domains(1, 2 * DOMAINS)).size, 2 * DOMAINS);
    const first = new Set(domains(1));
    assert.equal(first.size, DOMAINS);
    assert.ok(domains(2).every((domain) => !first.has(domain)));
  });
});
