import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOtherAddresses } from "../../../src/engine/other-addresses.ts";
import { createEgressRoutes, type RouteSelection } from "../../../src/smtp/wire/egress-routes.ts";
import { createScriptedResolver, type ScriptedNames } from "../../support/scripted-resolver.ts";

const HELO = "probe.test";
const V4 = "192.0.2.1";
const V6 = "2001:db8::1";
const BOTH = { A: ["198.51.100.1", "198.51.100.2"], AAAA: ["2001:db8:1::1", "2001:db8:1::2"] };
const POLICY = {
  maxConnections: 1,
  transactionsPerSession: 1,
  rejectionsPerSession: 1,
  tls: "never",
  pipelineDepthMax: 1,
} as const;

interface Case {
  name: string;
  names?: ScriptedNames[string];
  sources?: string[];
  from?: string;
  cutOff?: string;
  blocked?: string;
  choice?: RouteSelection;
  expected: string[];
}

const own = (names: readonly string[]): RouteSelection => ({
  defaults: null,
  forSite: () => names,
  allNamed: names,
});

const CASES: Case[] = [
  {
    name: "alternates families after the first address",
    expected: ["2001:db8:1::1 direct", "198.51.100.2 direct", "2001:db8:1::2 direct"],
  },
  { name: "finds only those after the address", from: "198.51.100.2", expected: ["2001:db8:1::2 direct"] },
  { name: "names an address once", names: { A: ["198.51.100.1", "198.51.100.1"] }, expected: [] },
  {
    name: "takes the one family when the other cannot be looked up",
    names: { A: BOTH.A, AAAA: "fail" },
    expected: ["198.51.100.2 direct"],
  },
  {
    name: "never takes IPv6 without a source address of it",
    sources: [V4],
    expected: [`198.51.100.2 ${V4}`],
  },
  {
    name: "takes the route to each family",
    sources: [V4, V6],
    expected: [`2001:db8:1::1 ${V6}`, `198.51.100.2 ${V4}`, `2001:db8:1::2 ${V6}`],
  },
  {
    name: "takes no route by which nothing leaves",
    sources: [V4, V6],
    cutOff: V6,
    expected: [`198.51.100.2 ${V4}`],
  },
  {
    name: "takes no other route on which a domain of the site is blocked",
    sources: [V4, V6],
    blocked: V6,
    expected: [`198.51.100.2 ${V4}`],
  },
  {
    name: "stays on its own route where each has a cap of its own",
    sources: [V4, V6],
    choice: own([V4, V6]),
    expected: [`198.51.100.2 ${V4}`],
  },
];

describe("the other addresses of a host", () => {
  for (const { name, names = BOTH, sources = [], from = "198.51.100.1", expected, ...rest } of CASES)
    it(name, async () => {
      const paths = createEgressRoutes(
        {
          heloName: HELO,
          proxies: [],
          sourceAddresses: sources.map((address) => ({ address, heloName: HELO })),
        },
        rest.choice,
      );
      const othersOf = createOtherAddresses({
        resolver: createScriptedResolver({ "mx.test": names }),
        paths,
        breaker: { isClearForSite: (_, path) => path !== rest.blocked },
        network: { isCutOff: (path) => path === rest.cutOff },
      });
      const path = paths.routeTo("site", from) ?? assert.fail("no route there");
      const place = { site: "site", cap: "site", host: "mx.test", address: from, path };
      const found = await othersOf({ ...place, policy: POLICY, published: true });
      assert.deepEqual(
        found.map((each) => `${each.address} ${each.path.name}`),
        expected,
      );
    });
});
