import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConfigError } from "../../../src/config/config.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { loadShaping, type OperatorShaping } from "../../../src/egress/shaping.ts";
import { parseOperatorShaping } from "../../../src/egress/shaping-file.ts";
import { createSiteDirectory } from "../../../src/verification/lists/site.ts";
import fc from "../../support/properties.ts";

const WAYS = new Set(["203.0.113.5", "203.0.113.6", "proxy:10.0.0.1:1080", "direct"]);
const SETTING = "SHAPING_FILE: /etc/rcpt/shaping.json";

const read = (json: string) => parseOperatorShaping(json, SETTING, WAYS);
const own = (value: unknown) => read(JSON.stringify(value));

function messageOf(json: string): string {
  try {
    read(json);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.ok(error.message.startsWith(`${SETTING}: `), error.message);
    assert.doesNotMatch(error.message, /[\r\n\u2028\u2029\0]/);
    assert.ok(error.message.length <= 500);
    return error.message.slice(SETTING.length + 2);
  }
  return assert.fail(`was accepted: ${json.slice(0, 200)}`);
}

const wrong = (value: unknown) => messageOf(JSON.stringify(value));

describe("the operator's shaping", () => {
  it("may be empty, or say everything", () => {
    const nothing: OperatorShaping = { default: {}, providers: {}, sites: {} };
    assert.deepEqual(own({}), nothing);
    const all = {
      default: { maxConnections: 20, ways: ["203.0.113.5", "203.0.113.6"], source: "our own experience" },
      providers: {
        google: { ways: ["proxy:10.0.0.1:1080"], pipelineDepthMax: 3 },
        yahoo: { habit: "none" },
        our_hoster: { mx: ["mx*.hoster.example.com", "mail.hoster.co.uk"], tls: "required" },
      },
      sites: {
        "example.com": { maxConnections: 1, habit: "refuses_all" },
        "b.net": { ways: ["direct"] },
      },
    };
    assert.deepEqual(own(all), all);
  });

  it("is laid over what is known, field by field", () => {
    const shaping = loadShaping(
      own({
        default: { maxConnections: 20, rejectionsPerSession: 4 },
        providers: {
          google: { maxConnections: 7 },
          yahoo: { habit: "none" },
          mine: { mx: ["mx.example.com"], habit: "accepts_all" },
        },
        sites: { "example.net": { tls: "never", maxConnections: 1 } },
      }),
    );
    const { maxConnections, transactionsPerSession, rejectionsPerSession, tls } = shaping.policyFor("google");
    assert.deepEqual(
      [maxConnections, transactionsPerSession, rejectionsPerSession, tls],
      [7, 50, 4, "required"],
    );
    assert.equal(
      shaping.policyFor("orange").maxConnections,
      2,
      "a provider's figure goes before the default",
    );
    assert.equal(shaping.policyFor(null, "example.org").maxConnections, 20);
    const {
      maxConnections: one,
      tls: never,
      transactionsPerSession: learnt,
    } = shaping.policyFor(null, "example.net");
    assert.deepEqual([one, never, learnt], [1, "never", null]);
    assert.equal(shaping.policyFor("mine").maxConnections, 20);
    assert.equal(shaping.isUnverifiable("mine"), true);
    assert.equal(shaping.isUnverifiable("yahoo"), false);
    assert.equal(shaping.isUnverifiable(null, "example.net"), false);
    assert.equal(
      loadShaping(own({ sites: { "example.net": { habit: "accepts_all" } } })).isUnverifiable(
        null,
        "example.net",
      ),
      true,
    );
  });

  it("names ways for everybody, for a provider and for a site", () => {
    const { routes: ways } = loadShaping(
      own({
        default: { ways: ["203.0.113.5"] },
        providers: { google: { ways: ["203.0.113.6", "direct"] }, orange: { maxConnections: 1 } },
        sites: { "example.net": { ways: ["proxy:10.0.0.1:1080"] } },
      }),
    );
    assert.deepEqual(
      [
        ways.defaults,
        ways.forSite("google"),
        ways.forSite("orange"),
        ways.forSite("example.net"),
        ways.forSite("example.org"),
      ],
      [["203.0.113.5"], ["203.0.113.6", "direct"], null, ["proxy:10.0.0.1:1080"], null],
    );
    assert.equal(ways.forSite("google"), ways.forSite("google"));
    assert.deepEqual([...ways.allNamed].sort(), [...WAYS].sort());
    assert.deepEqual(ways.forSite("__proto__"), null);
  });

  it("makes one site of all hosts of a provider of its own", () => {
    const { mx } = loadShaping(
      own({ providers: { mine: { mx: ["mx*.hoster.com"] }, ovh: { mx: ["mx.old-ovh.com"] } } }),
    );
    const { siteOf } = createSiteDirectory(mx);
    assert.deepEqual(siteOf(["mx7.hoster.com"], "a.org"), { site: "mine", provider: "mine" });
    assert.deepEqual(siteOf(["mx.old-ovh.com"], "a.org"), { site: "ovh", provider: "ovh" });
    assert.equal(siteOf(["mx1.mail.ovh.net"], "a.org").provider, "ovh");
    assert.deepEqual(siteOf(["vps1.hoster.com"], "a.org"), { site: "vps1.hoster.com", provider: null });
  });
});

describe("a wrong entry of the operator's shaping is named", () => {
  const cases: [unknown, RegExp][] = [
    [[], /^the file: must be an object/],
    [null, /^the file: must be an object/],
    ["text", /^the file: must be an object/],
    [{ site: {} }, /^site: is no field here/],
    [{ default: [] }, /^default: must be an object/],
    [{ default: { habit: "accepts_all" } }, /^default\.habit: is no field here/],
    [{ default: { maxConnections: 0 } }, /^default\.maxConnections: must be a whole number from 1 to 1000/],
    [{ default: { maxConnections: "5" } }, /^default\.maxConnections: must be a whole number/],
    [{ default: { maxConnections: 1.5 } }, /^default\.maxConnections: must be a whole number/],
    [{ default: { maxConnections: 1e99 } }, /^default\.maxConnections: must be a whole number/],
    [{ default: { maxConnections: null } }, /^default\.maxConnections: must be a whole number/],
    [
      { default: { pipelineDepthMax: 11 } },
      /^default\.pipelineDepthMax: must be a whole number from 1 to 10/,
    ],
    [{ providers: [] }, /^providers: must be an object/],
    [{ providers: { google: 5 } }, /^providers\.google: must be an object/],
    [{ providers: { google: { maxConnection: 5 } } }, /^providers\.google\.maxConnection: is no field here/],
    [
      { providers: { google: { tls: "maybe" } } },
      /^providers\.google\.tls: must be one of never, opportunistic, required/,
    ],
    [
      { providers: { google: { habit: "lies" } } },
      /^providers\.google\.habit: must be one of accepts_all, refuses_all, none/,
    ],
    [{ providers: { gogle: { tls: "never" } } }, /^providers\.gogle: is no known provider/],
    [{ providers: { "G o": { mx: ["mx.example.com"] } } }, /^providers\.G o: must be a name of letters/],
    [{ providers: { mine: { mx: [] } } }, /^providers\.mine\.mx: must name at least one/],
    [{ providers: { mine: { mx: ["com"] } } }, /^providers\.mine\.mx: must be a list of host names/],
    [{ providers: { mine: { mx: ["*.co.uk"] } } }, /^providers\.mine\.mx: must be a list of host names/],
    [{ providers: { mine: { mx: ["mx.*.com"] } } }, /^providers\.mine\.mx: must be a list of host names/],
    [
      { providers: { mine: { mx: ["a*b*.example.com"] } } },
      /^providers\.mine\.mx: must be a list of host names/,
    ],
    [
      { providers: { mine: { mx: ["MX.example.com"] } } },
      /^providers\.mine\.mx: must be a list of host names/,
    ],
    [{ providers: { mine: { mx: ["google.com"] } } }, /^providers\.mine\.mx: google\.com is of google/],
    [
      { providers: { a: { mx: ["mx.a.com"] }, b: { mx: ["mx.a.com"] } } },
      /^providers\.b\.mx: mx\.a\.com is of a/,
    ],
    [{ sites: { "Example.com": {} } }, /^sites\.Example\.com: must be a domain in lower case/],
    [{ sites: { "a.com,b.com": {} } }, /^sites\.a\.com,b\.com: must be a domain in lower case, one an entry/],
    [{ sites: { google: {} } }, /^sites\.google: is a provider/],
    [{ providers: { mine: { mx: ["mx.a.com"] } }, sites: { mine: {} } }, /^sites\.mine: is a provider/],
    [
      { sites: { "mail.example.com": {} } },
      /^sites\.mail\.example\.com: is in the site example\.com: all exchangers in example\.com are one site/,
    ],
    [{ sites: { "google.com": {} } }, /^sites\.google\.com: is of google, it belongs to providers\.google/],
    [
      { providers: { mine: { mx: ["mx.a.com"] } }, sites: { "mx.a.com": {} } },
      /^sites\.mx\.a\.com: is of mine, it belongs to providers\.mine/,
    ],
    [{ sites: { com: {} } }, /^sites\.com: is nobody's domain/],
    [{ sites: { "co.uk": {} } }, /^sites\.co\.uk: is nobody's domain/],
    [{ sites: { "192.0.2.1": {} } }, /^sites\.192\.0\.2\.1: is nobody's domain/],
    [{ sites: { "a.com,a.com": {} } }, /^sites\.a\.com,a\.com: must be a domain/],
    [{ sites: { "": {} } }, /^sites\.: must be a domain/],
    [{ sites: { "bücher.example": {} } }, /^sites\.bücher\.example: must be a domain/],
    [{ sites: { "a.com": { mx: ["mx.a.com"] } } }, /^sites\.a\.com\.mx: is no field here/],
    [{ sites: { "a.com": { ways: [] } } }, /^sites\.a\.com\.ways: must name at least one/],
    [{ sites: { "a.com": { ways: "direct" } } }, /^sites\.a\.com\.ways: must be a list/],
    [{ sites: { "a.com": { ways: [5] } } }, /^sites\.a\.com\.ways\.0: must be a list/],
    [{ sites: { "a.com": { ways: ["direct", "direct"] } } }, /^sites\.a\.com\.ways: names one twice/],
    [{ sites: { "a.com": { ways: ["203.0.113.7"] } } }, /^sites\.a\.com\.ways: 203\.0\.113\.7 is no way/],
    [{ default: { ways: ["proxy:10.0.0.1:1081"] } }, /^default\.ways: proxy:10\.0\.0\.1:1081 is no way/],
    [{ sites: { "a.com": { ways: ["x\r\ny"] } } }, /^sites\.a\.com\.ways: x y is no way/],
  ];
  for (const [value, message] of cases) it(JSON.stringify(value), () => assert.match(wrong(value), message));

  it("JSON that is none, and names that no object should have", () => {
    assert.match(messageOf("{"), /^is no JSON that can be read: /);
    assert.match(messageOf(""), /^is no JSON/);
    assert.match(messageOf('{"a":\n\n}'), /^is no JSON/);
    assert.match(messageOf('{"__proto__":{"default":{}}}'), /__proto__ is no name/);
    assert.match(messageOf('{"providers":{"constructor":{"tls":"never"}}}'), /constructor is no name/);
    assert.match(messageOf('{"sites":{"__proto__":{"tls":"never"}}}'), /__proto__ is no name/);
    assert.match(messageOf("[".repeat(200_000)), /^is no JSON/);
    assert.match(messageOf("[".repeat(200_000) + "]".repeat(200_000)), /^is no JSON/);
  });

  it("a name that is there twice, whose first entry would be gone without a word", () => {
    const twice = '{"sites":{"a.com":{"tls":"never"},"b.com":{},"a\\u002ecom":{"tls":"required"}}}';
    assert.match(messageOf(twice), /a\.com is there twice in one object/);
    assert.match(messageOf('{"default":{},"default":{}}'), /default is there twice/);
    assert.match(messageOf('{"default":{"source":"x","tls":"never","source":"y"}}'), /source is there twice/);
    const apart =
      '{"default":{"source":"\\"tls\\":{[,"},"providers":{"google":{"source":"default"}},"sites":{}}';
    assert.deepEqual(read(apart).default, { source: '"tls":{[,' });
  });

  it("names of exchangers that look right for long, in no time", () => {
    const label = "a".repeat(60);
    // A pattern that backtracks would not finish in any useful time.
    for (const end of ["!", ".*", ".COM"])
      assert.match(
        wrong({ providers: { p: { mx: [`${`${label}.`.repeat(3)}${label}${end}`] } } }),
        /mx: must be a list/,
      );
  });

  it("more entries than there may be", () => {
    const many = (count: number, name: (i: number) => string, entry: unknown) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), entry]));
    const { ownSites, ownProviders, routes: ways, mxNames } = LIMITS.shaping;
    assert.match(wrong({ sites: many(ownSites + 1, (i) => `s${i}.com`, {}) }), /^sites: at most 10000/);
    assert.ok(own({ sites: many(ownSites, (i) => `s${i}.com`, {}) }));
    assert.match(wrong({ providers: many(ownProviders + 1, (i) => `p${i}`, {}) }), /^providers: at most 200/);
    const names = (count: number) => Array.from({ length: count }, (_, i) => `mx${i}.example.com`);
    assert.match(wrong({ sites: { "a.com": { ways: names(ways + 1) } } }), /ways: must name at most 64/);
    assert.match(wrong({ providers: { a: { mx: names(mxNames + 1) } } }), /mx: must name at most 100/);
  });

  it("whatever it is: a ConfigError or shaping that can be used, never anything else", () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.constantFrom(...WAYS, "required"),
    );
    const field = fc.constantFrom(...["maxConnections", "tls", "habit", "ways", "mx", "source", "__proto__"]);
    const entry = fc.oneof(
      leaf,
      fc.dictionary(fc.oneof(field, fc.string()), fc.oneof(leaf, fc.array(leaf)), { maxKeys: 3 }),
    );
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom("google", "example.com", "mine", "constructor", "toString"),
    );
    const section = fc.oneof(leaf, fc.dictionary(key, entry, { maxKeys: 3 }));
    const file = fc.dictionary(fc.constantFrom("default", "providers", "sites", "other"), section, {
      maxKeys: 3,
    });
    fc.assert(
      fc.property(fc.oneof(file, fc.jsonValue()), (value) => {
        const json = JSON.stringify(value);
        let good: OperatorShaping;
        try {
          good = read(json);
        } catch {
          messageOf(json);
          return;
        }
        const shaping = loadShaping(good);
        assert.ok(shaping.policyFor(null, "example.com").maxConnections >= 1);
        createSiteDirectory(shaping.mx).siteOf(["mx.example.com"], "example.com");
      }),
      { numRuns: 2_000 },
    );
  });
});
