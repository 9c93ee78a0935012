import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { hash128 } from "../../../../src/platform/ids.ts";
import { factsOfText, findingOfText } from "../../../../src/verification/evidence/model.ts";
import { type EvidenceParts, evidenceOf, type SmtpEvidence } from "../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";
import fc from "../../../support/properties.ts";

const odd = fc.oneof(
  fc.constantFrom("", "a\tb", "a\nb", '"},{"', "ü…", "\u2028", "OK 1a2b3c4d5e"),
  fc.string({ unit: "grapheme" }),
);
const number = fc.oneof(
  fc.nat(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
);
const fault = fc.constantFrom(null, "recipient", "their_server", "our_address", "our_network");

const PLAIN = { noNullPrototype: true } as const;

const smtp: fc.Arbitrary<SmtpEvidence> = fc.record(
  {
    class: fc.constantFrom("accepted", "mailbox_not_found", "greylisted"),
    fault,
    stage: fc.constantFrom("rcpt", "connect"),
    code: number,
    enhancedCode: fc.option(odd),
    reply: odd,
    rule: odd,
    mxHost: odd,
    path: odd,
    trusted: fc.boolean(),
    retryAfterS: fc.option(number),
    latencyMs: number,
    tls: fc.boolean(),
    catchAll: fc.constantFrom("accepted", "refused", "put_off"),
  },
  PLAIN,
);

const parts: fc.Arbitrary<Required<EvidenceParts>> = fc.record({
  mx: fc
    .record(
      {
        status: fc.constantFrom("ok", "dns_error"),
        hosts: fc.array(odd, { maxLength: 3 }),
        isNoted: fc.boolean(),
        provider: fc.option(odd),
        ttlS: number,
        fault,
      },
      PLAIN,
    )
    .map(({ isNoted, ...mx }) => ({ ...mx, preferences: isNoted ? mx.hosts.map((_, i) => i) : [] })),
  disposable: fc.record({ listed: fc.boolean(), source: odd }, PLAIN),
  freeProvider: fc.boolean(),
  domain: fc.option(
    fc.record(
      {
        spf: fc.option(fc.boolean()),
        dmarc: fc.option(fc.boolean()),
        listedBy: fc.option(odd),
        parkedAddress: fc.boolean(),
      },
      PLAIN,
    ),
    { nil: undefined },
  ),
  role: fc.option(odd),
  smtp: fc.option(smtp),
}) as fc.Arbitrary<Required<EvidenceParts>>;

const FULL = evidenceWith({
  domain: { spf: true, dmarc: false, listedBy: "x", parkedAddress: true },
  disposable: { listed: true, source: "a list" },
  freeProvider: true,
  role: "info",
  mx: {
    status: "ok",
    hosts: ["mx.one.test"],
    preferences: [10],
    provider: "google",
    ttlS: 60,
    fault: "recipient",
  },
  smtp: smtpWith({
    ...{
      fault: "recipient",
      stage: "mail",
      enhancedCode: "5.1.1",
      reply: "no",
      trusted: false,
      retryAfterS: 3,
    },
  }),
});

describe("evidence", () => {
  it("has what it was made of, and is read from the texts of its parts as the same objects", () => {
    fc.assert(
      fc.property(parts, (one) => {
        const evidence = evidenceOf(one);
        const { mx, disposable, freeProvider, domain, role } = evidence;
        assert.deepEqual({ mx, disposable, freeProvider, domain, role, smtp: evidence.smtp }, { ...one });
        const { facts, finding } = evidence;
        assert.equal(factsOfText(facts.text), facts);
        assert.equal(findingOfText(finding.text), finding);
        assert.doesNotMatch(facts.text + finding.text, /[\r\n]/);
        assert.deepEqual([facts.id, finding.id], [hash128(facts.text), hash128(finding.text)]);
      }),
    );
  });

  it("is alike where nothing but the latency and a reply of its own differs, whichever field it is", () => {
    const evidence = (change: Partial<SmtpEvidence>) => evidenceWith({ smtp: smtpWith(change) });
    const one = evidence({});
    assert.ok(one.isLike(evidence({ latencyMs: 9 })));
    const [id, otherId] = ["OK 1a2b3c4d5e", "OK 9f8e7d6c5b"].map((reply) => evidence({ reply }));
    assert.ok(id?.isLike(otherId ?? one));
    assert.deepEqual([id?.smtp?.reply, otherId?.smtp?.reply], ["OK 1a2b3c4d5e", "OK 9f8e7d6c5b"]);
    const others: Partial<SmtpEvidence>[] = [
      ...[{ class: "greylisted" as const }, { fault: "recipient" as const }, { stage: "mail" as const }],
      ...[{ code: 251 }, { enhancedCode: "2.1.5" }, { reply: "OK" }, { rule: "other" }, { mxHost: "mx" }],
      ...[{ path: "proxy" }, { trusted: false }, { retryAfterS: 1 }, { tls: false }],
      { catchAll: "accepted" },
    ];
    assert.equal(others.length, Object.keys(smtpWith()).length - 1);
    for (const other of others) assert.ok(!one.isLike(evidence(other)), Object.keys(other).join());
  });

  it("is alike also where one part was forgotten meanwhile and made anew", () => {
    const known = evidenceWith({ role: "first", smtp: smtpWith() });
    for (let i = 0; i <= LIMITS.check.findingsKept; i++) evidenceWith({ role: `r${i}` });
    const again = evidenceWith({ role: "first", smtp: smtpWith() });
    assert.notEqual(again.finding, known.finding);
    assert.ok(again.isLike(known));
    assert.equal(known.finding.text, again.finding.text);
  });

  it("is one object for all addresses that were not probed, up to a bound of findings", () => {
    assert.equal(evidenceWith(), evidenceWith());
    const { facts } = evidenceWith();
    for (let i = 0; i <= LIMITS.check.findingsPerFacts; i++) evidenceWith({ role: `r${i}` });
    assert.ok(evidenceWith().isLike(evidenceWith()));
    assert.equal(evidenceWith().facts, facts);
  });

  it("cannot be changed, nor by what it was made of", () => {
    const hosts = ["mx.one.test"];
    const made = evidenceWith({ mx: { ...evidenceWith().mx, hosts } });
    hosts.push("mx.two.test");
    assert.deepEqual(made.mx.hosts, ["mx.one.test"]);
    for (const part of [made.mx, made.mx.hosts, made.disposable]) assert.ok(Object.isFrozen(part));
  });
});

const ODD = { odd: true };
type Tree = Record<string, unknown>;

function pathsOf(tree: Tree, path: string[] = []): string[][] {
  return Object.entries(tree).flatMap(([name, part]) => {
    const own = [...path, name];
    const isStruct = typeof part === "object" && part !== null && !Array.isArray(part);
    return [own, ...(isStruct ? pathsOf(part as Tree, own) : [])];
  });
}

function changed(text: string, path: readonly string[], value: unknown): string {
  const tree: Tree = JSON.parse(text);
  const owner = path.slice(0, -1).reduce((part, name) => part[name] as Tree, tree);
  owner[path.at(-1) ?? ""] = value;
  return JSON.stringify(tree);
}

describe("texts of facts and findings", () => {
  const parts = [
    [FULL.facts.text, factsOfText],
    [FULL.finding.text, findingOfText],
  ] as const;

  it("that are damaged are none, whichever field it is", () => {
    let fields = 0;
    for (const [text, read] of parts)
      for (const path of pathsOf(JSON.parse(text))) {
        fields += 1;
        for (const value of [ODD, [{}], Number.NaN, "toString", -1.5, true])
          try {
            // A value that fits the field is read as such, and is no damage; nor is a struct of defaults alone.
            const part = read(changed(text, path, value));
            const isStruct = ["disposable", "domain"].includes(path.join(".")) && value === ODD;
            if (!isStruct)
              assert.equal(JSON.stringify(at(part, path)), JSON.stringify(value), path.join("."));
          } catch (error) {
            assert.ok(error instanceof TypeError, path.join("."));
          }
      }
    assert.ok(fields > 25, "each field");
  });

  const at = (part: object, path: readonly string[]) =>
    path.reduce((part: unknown, name) => (part as Tree)[name], part);

  it("that are anything else fail as such, and nothing else happens", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .tuple(fc.constantFrom(FULL.facts.text, FULL.finding.text), fc.nat(300), fc.string({ maxLength: 3 }))
        .map(([text, place, other]) => text.slice(0, place) + other + text.slice(place + other.length)),
    );
    const isRefused = (read: (text: string) => unknown, text: string) => {
      try {
        read(text);
      } catch (error) {
        assert.ok(error instanceof TypeError || error instanceof SyntaxError);
      }
    };
    fc.assert(
      fc.property(texts, (text) => {
        isRefused(factsOfText, text);
        isRefused(findingOfText, text);
      }),
    );
    const [facts] = parts[0];
    for (const [part, other] of [
      ['"preferences":[10]', '"preferences":[10,20]'],
      ['"preferences":[10]', '"preferences":[1.5]'],
      ['"status":"ok"', '"status":"toString"'],
    ] as const) {
      assert.ok(facts.includes(part));
      assert.throws(() => factsOfText(facts.replace(part, other)), TypeError);
    }
  });

  it("of earlier builds lack what was added since, those of later ones have more: both are read", () => {
    const { domain, ...earlier } = JSON.parse(FULL.facts.text) as Tree;
    const { preferences, ...mx } = earlier.mx as Tree;
    const read = factsOfText(JSON.stringify({ ...earlier, mx }));
    assert.deepEqual([domain, preferences].includes(undefined), false);
    assert.deepEqual([read.domain, read.mx.preferences, read.mx.hosts], [undefined, [], FULL.mx.hosts]);
    const later = changed(FULL.finding.text, ["smtp", "tlsVersion"], "1.3");
    assert.equal(findingOfText(later).text, FULL.finding.text);
    assert.notEqual(hash128(later), FULL.finding.id);
  });
});

describe("an id", () => {
  it("is 128 bits of SHA-256 of the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
        assert.equal(hash128(text), bytes.toString("base64url"));
      }),
    );
  });
});
