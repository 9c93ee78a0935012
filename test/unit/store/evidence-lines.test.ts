import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { SmtpEvidence } from "../../../src/check/evidence.ts";
import type { CacheEntry } from "../../../src/store/cache-entry.ts";
import { entryLines } from "../../../src/store/evidence-lines.ts";
import { encodeEntry } from "../../../src/store/evidence-text.ts";
import { evidenceWith, smtpWith } from "../../support/evidence.ts";

/** Parts as an engine hands them out: the same objects again and again, and now and then one made anew. */
const PARTS = [evidenceWith().mx, { ...evidenceWith().mx, hosts: ["mx\t1.test", "ü"] }];
const mx = fc.oneof(
  fc.constantFrom(...PARTS),
  fc.constantFrom(...PARTS).map((part) => ({ ...part })),
);
const none = evidenceWith().disposable;
const disposable = fc.oneof(fc.constant(none), fc.constant({ listed: true, source: "a\nlist" }));
const domain = fc.constantFrom(undefined, { spf: true, dmarc: null, listedBy: "x\ty", parkedAddress: false });
const odd = fc.oneof(
  fc.constantFrom("2.1.5 OK", "a\tb", "a\nrcpt:ev:p:x 9 1 2 3 4", '"},{"', "ü…"),
  fc.string(),
);

const smtp: fc.Arbitrary<SmtpEvidence | null> = fc.option(
  fc
    .record({
      latencyMs: fc.oneof(fc.nat(3), fc.double({ noNaN: true, noDefaultInfinity: true })),
      reply: odd,
      enhancedCode: fc.constantFrom(null, "5.1.1"),
      retryAfterS: fc.constantFrom(null, 7),
      mxHost: fc.constantFrom("mx1.test", "mx2.test"),
      catchAll: fc.constantFrom("refused" as const, "accepted" as const),
      more: fc.constantFrom(undefined, undefined, undefined, 1),
    })
    // A later build may have taught the evidence more than this one knows.
    .map(({ more, ...rest }) => ({ ...smtpWith(rest), ...(more === undefined ? {} : { more }) })),
);

const entry: fc.Arbitrary<CacheEntry> = fc
  .record({
    ...{ mx, disposable, domain, smtp, role: fc.constantFrom(null, "info"), freeProvider: fc.boolean() },
    ...{ storedAt: fc.nat(), ttlS: fc.oneof(fc.nat(9), fc.constant(1 / 3)) },
  })
  .map(({ storedAt, ttlS, domain: signals, ...rest }) => ({
    evidence: evidenceWith(signals === undefined ? rest : { ...rest, domain: signals }),
    storedAt,
    ttlS,
  }));

/** What the script makes of the argument: keys, lifetimes and texts. */
function keptOf(lines: string): [string, string, string][] {
  const shapes: [string, string][] = [];
  const kept: [string, string, string][] = [];
  for (const line of lines.split("\n")) {
    if (line.startsWith("{")) {
      const tab = line.indexOf("\t");
      shapes.push([line.slice(0, tab), line.slice(tab + 1)]);
      continue;
    }
    const [, key = "", ttl = "", shape, latency = "", storedAt, life] =
      /^(\S+) (\d+) (\d+) (\S*) (\S+) (\S+)$/.exec(line) ?? [];
    if (key === "") continue;
    const [start, end] = shapes[Number(shape) - 1] ?? assert.fail(line);
    kept.push([key, ttl, `{"evidence":${start}${latency}${end},"storedAt":${storedAt},"ttlS":${life}}`]);
  }
  return kept;
}

describe("entries on their way to Redis", () => {
  it("come to what each would be by itself, whatever they share and whatever was said", () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), (entries) => {
        const keyed = entries.map((one, i) => ({ redisKey: `rcpt:ev:p:${i}`, entry: one }));
        const wanted = keyed.map(({ redisKey, entry: one }) => [
          redisKey,
          String(Math.floor(one.ttlS)),
          encodeEntry(one),
        ]);
        assert.deepEqual(keptOf(entryLines(keyed)), wanted);
        for (const one of entries)
          assert.deepEqual(JSON.parse(encodeEntry(one)), JSON.parse(JSON.stringify(one)));
      }),
      { numRuns: 300 },
    );
  });

  it("say once what a domain's rows have in common", () => {
    const shared = evidenceWith({ smtp: smtpWith({ latencyMs: 1 }) });
    const keyed = Array.from({ length: 100 }, (_, i) => ({
      redisKey: `rcpt:ev:p:${"k".repeat(22)}`,
      entry: {
        evidence: { ...shared, smtp: smtpWith({ latencyMs: i }) },
        storedAt: 1_700_000_000_000 + i,
        ttlS: 604_800,
      },
    }));
    const lines = entryLines(keyed);
    assert.equal(lines.split("\n").filter((line) => line.startsWith("{")).length, 1);
    assert.ok(lines.length < 100 * 75, `${lines.length}`);
  });
});
