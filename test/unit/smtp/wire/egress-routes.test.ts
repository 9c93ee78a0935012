import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  configuredRouteNames,
  createEgressRoutes,
  type RouteSelection,
} from "../../../../src/smtp/wire/egress-routes.ts";
import fc from "../../../support/properties.ts";

const heloName = "probe.example.com";
const sourcesOf = (addresses: string[]) => addresses.map((address) => ({ address, heloName }));
const proxyOf = (host: string, port = 1_080) => ({ host, port, credentials: null, heloName });

function configOf(addresses: string[], proxies: ReturnType<typeof proxyOf>[] = []) {
  return { heloName, sourceAddresses: sourcesOf(addresses), proxies };
}

function choiceOf(sites: Record<string, string[]>, standard: string[] | null = null): RouteSelection {
  const named = [...(standard ?? []), ...Object.values(sites).flat()];
  return { defaults: standard, allNamed: named, forSite: (site) => sites[site] ?? null };
}

const SITES = Array.from({ length: 1_000 }, (_, i) => `site${i}.example`);

describe("the egress route", () => {
  const sources = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"];
  const paths = createEgressRoutes(configOf(sources));

  it("is the same for all recipients of a site, and spreads over sites", () => {
    const used = new Map<string, number>();
    for (const site of SITES) {
      const path = paths.routeTo(site, "198.51.100.1", "a@example.org") ?? assert.fail();
      assert.equal(paths.routeTo(site, "198.51.100.2", "b@example.org"), path);
      used.set(path.name, (used.get(path.name) ?? 0) + 1);
    }
    assert.deepEqual([...used.keys()].sort(), sources.slice(0, 3));
    // A third each: 333, give or take six standard deviations.
    for (const [name, count] of used) assert.ok(Math.abs(count - 333) < 90, `${name}: ${count}`);
  });

  it("is of the family of the target, or there is none", () => {
    assert.equal(paths.routeTo("s", "2001:db8::9")?.name, "2001:db8::1");
    assert.equal(createEgressRoutes(configOf(["192.0.2.1"])).routeTo("s", "2001:db8::9"), undefined);
  });

  it("is the system's where nothing is configured", () => {
    const { all, routeTo: to } = createEgressRoutes(configOf([]));
    assert.deepEqual(all, [{ name: "direct", localAddress: null, proxy: null, heloName }]);
    assert.equal(to("s", "192.0.2.9"), all[0]);
    assert.equal(to("s", "2001:db8::9"), all[0]);
  });

  it("may be a proxy, for either family, and then there is no other that was not asked for", () => {
    const { all, routeTo: to } = createEgressRoutes(
      configOf([], [proxyOf("10.0.0.1"), proxyOf("fd00::1", 9_050)]),
    );
    assert.deepEqual(
      all.map(({ name }) => name),
      ["proxy:10.0.0.1:1080", "proxy:[fd00::1]:9050"],
    );
    for (const site of SITES.slice(0, 50)) assert.equal(to(site, "192.0.2.9"), to(site, "2001:db8::9"));
  });

  it("has a HELO name of its own", () => {
    const { all } = createEgressRoutes({
      heloName,
      sourceAddresses: [{ address: "192.0.2.1", heloName: "one.example.com" }],
      proxies: [{ ...proxyOf("10.0.0.1"), heloName: "two.example.com" }],
    });
    assert.deepEqual(
      all.map((path) => path.heloName),
      ["one.example.com", "two.example.com"],
    );
  });

  it("moves for the new one's share of sites alone when one is added", () => {
    const more = createEgressRoutes(configOf([...sources.slice(0, 3), "192.0.2.4"]));
    let moved = 0;
    for (const site of SITES) {
      const [before, after] = [paths.routeTo(site, "198.51.100.1"), more.routeTo(site, "198.51.100.1")];
      if (before?.name === after?.name) continue;
      assert.equal(after?.name, "192.0.2.4", site);
      moved++;
    }
    assert.ok(Math.abs(moved - 250) < 90, `${moved} of 1000 moved`);
  });

  it("does not depend on the order in which ways are written", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(sources, { minLength: 4 }), fc.string(), (order, site) => {
        const name = createEgressRoutes(configOf(order)).routeTo(site, "198.51.100.1")?.name;
        assert.equal(name, paths.routeTo(site, "198.51.100.1")?.name);
      }),
    );
  });
});

describe("ways chosen by configuration", () => {
  const config = configOf(["192.0.2.1", "192.0.2.2"], [proxyOf("10.0.0.1")]);
  const several = ["192.0.2.1", "192.0.2.2", "proxy:10.0.0.1:1080"];
  const paths = createEgressRoutes(
    config,
    choiceOf({ "one.example": ["proxy:10.0.0.1:1080"], "many.example": several, "own.example": ["direct"] }),
  );

  it("one of a site is the site's, with the site's one cap", () => {
    const path = paths.routeTo("one.example", "198.51.100.1", "a@one.example") ?? assert.fail();
    assert.equal(path.name, "proxy:10.0.0.1:1080");
    assert.deepEqual([paths.capOf("one.example", path), paths.capCountOf("one.example")], ["one.example", 1]);
  });

  it("several of a site are its recipients', with a cap each", () => {
    const caps = new Map<string, number>();
    for (let i = 0; i < 900; i++) {
      const recipient = `user${i}@many.example`;
      const path = paths.routeTo("many.example", "198.51.100.1", recipient) ?? assert.fail();
      assert.equal(
        paths.routeTo("many.example", "198.51.100.77", recipient),
        path,
        "another host, the same way",
      );
      const cap = paths.capOf("many.example", path);
      caps.set(cap, (caps.get(cap) ?? 0) + 1);
    }
    assert.deepEqual([...caps.keys()].sort(), several.map((name) => `many.example ${name}`).sort());
    for (const count of caps.values()) assert.ok(Math.abs(count - 300) < 90, `${count}`);
    assert.equal(paths.capCountOf("many.example"), 3);
  });

  it("the system's own address is a route where it is named, and not a route of sites with their own", () => {
    assert.equal(paths.routeTo("own.example", "198.51.100.1")?.name, "direct");
    assert.deepEqual(
      paths.all.map(({ name }) => name),
      [...several, "direct"],
    );
    assert.deepEqual(paths.inUse, paths.all);
    for (const site of SITES.slice(0, 100))
      assert.notEqual(paths.routeTo(site, "198.51.100.1")?.name, "direct");
  });

  it("of everybody else are one each, out of those named for them", () => {
    const few = createEgressRoutes(config, choiceOf({}, ["192.0.2.2", "proxy:10.0.0.1:1080"]));
    const used = new Set(SITES.map((site) => few.routeTo(site, "198.51.100.1", "a@x.example")?.name));
    assert.deepEqual([...used].sort(), ["192.0.2.2", "proxy:10.0.0.1:1080"]);
    assert.deepEqual(
      [few.all.length, few.inUse.map(({ name }) => name)],
      [3, ["192.0.2.2", "proxy:10.0.0.1:1080"]],
    );
    const path = few.routeTo("a.example", "198.51.100.1") ?? assert.fail();
    assert.equal(few.capOf("a.example", path), "a.example");
  });

  it("that the settings do not define are a bug, since names are checked before", () => {
    assert.throws(() => createEgressRoutes(config, choiceOf({ "x.example": ["192.0.2.9"] })));
    assert.deepEqual([...configuredRouteNames(config)], [...several, "direct"]);
  });
});
