import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import type { Evidence } from "../../../src/check/evidence.ts";
import { decodeEntry, encodeEntry, hash128 } from "../../../src/store/evidence-text.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";
import fc from "../../support/properties.ts";

const odd = fc.oneof(
  fc.string(),
  fc.constantFrom('"latencyMs":7,', '},"storedAt":1,"ttlS":2}', "\\", "ü…", "a\nb\r\n"),
);
const mx: fc.Arbitrary<Evidence["mx"]> = fc.constantFrom(
  evidenceWith().mx,
  { ...evidenceWith().mx, hosts: ["a.test", "b.test"], preferences: [5, 10], provider: "google" },
  { ...evidenceWith().mx, status: "dns_error", hosts: [], preferences: [], fault: "our_network" },
);
const smtp = fc.record({
  latencyMs: fc.oneof(fc.nat(5), fc.double({ noNaN: true, noDefaultInfinity: true })),
  reply: odd,
  enhancedCode: fc.option(odd),
  retryAfterS: fc.option(fc.nat(9)),
  mxHost: odd,
});
const entry = fc
  .record({
    mx,
    disposable: fc.record({ listed: fc.boolean(), source: odd }),
    role: fc.option(odd),
    freeProvider: fc.boolean(),
    domain: fc.option(fc.constant({ spf: true, dmarc: null, listedBy: "x", parkedAddress: false })),
    smtp: fc.option(smtp),
    storedAt: fc.nat(),
    ttlS: fc.nat(),
  })
  .map(({ storedAt, ttlS, domain, smtp: probe, ...rest }) => ({
    evidence: evidenceWith({
      ...rest,
      ...(domain === null ? {} : { domain }),
      smtp: probe === null ? null : smtpWith(probe),
    }),
    storedAt,
    ttlS,
  }));

/** What entries of earlier builds do not have. */
const OPTIONAL: ReadonlySet<string> = new Set(["evidence.domain", "evidence.mx.preferences"]);

describe("entries of the cache as text", () => {
  it("are JSON of all they have, and are read as JSON would be, whatever was read before", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
        for (const one of entries) {
          const text = encodeEntry(one);
          assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(one)));
          assert.doesNotMatch(text, /[\r\n]/);
          assert.deepEqual(decodeEntry(text), JSON.parse(text));
          // Once more, from what is known of it now; and as another version of us writes it.
          assert.deepEqual(decodeEntry(text), JSON.parse(text));
          assert.deepEqual(decodeEntry(JSON.stringify(one)), JSON.parse(text));
        }
      }),
    );
  });

  it("share their parts where they have them in common, and nothing that differs", () => {
    const [a, b] = [3, 4].map((latencyMs) =>
      decodeEntry(
        encodeEntry({
          evidence: evidenceWith({ smtp: smtpWith({ latencyMs }) }),
          storedAt: latencyMs,
          ttlS: 9,
        }),
      ),
    );
    assert.equal(a?.evidence.mx, b?.evidence.mx);
    assert.deepEqual([a?.evidence.smtp?.latencyMs, b?.evidence.smtp?.latencyMs], [3, 4]);
    assert.deepEqual([a?.storedAt, b?.storedAt], [3, 4]);
  });

  it("of another version, or of nobody of ours, are none", () => {
    const text = encodeEntry({ evidence: evidenceWith(), storedAt: 1, ttlS: 2 });
    for (const other of [text.replace('"v":2', '"v":1'), text.slice(0, -1), "null", "{}", "7", "", "no JSON"])
      assert.equal(decodeEntry(other), undefined, other);
  });

  it("that are damaged are none, whichever part it is, also where what they are like was read before", () => {
    const evidence = evidenceWith({
      smtp: smtpWith({ enhancedCode: "5.1.1", retryAfterS: 3 }),
      domain: { spf: true, dmarc: false, listedBy: "x", parkedAddress: false },
    });
    const whole = encodeEntry({ evidence, storedAt: 1, ttlS: 2 });
    assert.ok(decodeEntry(whole));
    type Tree = Record<string, unknown>;
    const pathsOf = (tree: Tree, path: string[] = []): string[][] =>
      Object.entries(tree).flatMap(([name, part]) => [
        [...path, name],
        ...(typeof part === "object" && part !== null && !Array.isArray(part)
          ? pathsOf(part as Tree, [...path, name])
          : []),
      ]);
    const paths = pathsOf(JSON.parse(whole));
    assert.ok(paths.length > 30, "each member of an entry");
    for (const path of paths)
      for (const value of [undefined, { odd: true }, [7]]) {
        const tree: Tree = JSON.parse(whole);
        const owner = path.slice(0, -1).reduce((part, name) => part[name] as Tree, tree);
        owner[path.at(-1) ?? ""] = value;
        const isAbsent = value === undefined && OPTIONAL.has(path.join("."));
        const isOptional = isAbsent || (path.at(-1) === "preferences" && Array.isArray(value));
        const found = decodeEntry(JSON.stringify(tree));
        assert.equal(found !== undefined, isOptional, `${path.join(".")}: ${JSON.stringify(value)}`);
      }
    for (const [part, other] of [
      ['"preferences":[10]', '"preferences":[10,20]'],
      ['"preferences":[10]', '"preferences":["10"]'],
      ['"preferences":[10]', '"preferences":[1.5]'],
      ['"class":"accepted"', '"class":"toString"'],
      ['"status":"ok"', '"status":"fine"'],
      ['"latencyMs":1', '"latencyMs":'],
      ['"latencyMs":1', '"latencyMs":fast'],
      ['"latencyMs":1', '"latencyMs":null'],
      ['"latencyMs":1', '"latencyMs":1e999'],
      ['"storedAt":1', '"storedAt":99999999999999999999'],
      ['"ttlS":2', '"ttlS":8640000000001'],
    ] as const) {
      assert.ok(whole.includes(part));
      assert.equal(decodeEntry(whole.replace(part, other)), undefined, other);
    }
  });

  it("are named by 128 bits of SHA-256", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
        assert.equal(hash128(text), bytes.toString("base64url"));
      }),
    );
  });
});
