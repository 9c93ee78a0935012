import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deserialize, serialize } from "node:v8";
import type { CheckOutcome } from "../../../../src/engine/threads/thread-tasks.ts";
import {
  OutcomePacker,
  type PackedOutcomes,
  readOutcomes,
} from "../../../../src/verification/evidence/outcomes.ts";
import {
  type Evidence,
  type EvidenceParts,
  evidenceBut,
  evidenceOf,
  type SmtpEvidence,
} from "../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";
import fc from "../../../support/properties.ts";

/** Repeats and strangers: names, empty texts, line breaks, what looks like JSON. */
const text = fc.oneof(
  fc.constantFrom("", "a", "mx.one.test", "\n", '{"mx":2}', "null", "OK 1a2b3c4d5e-smtp"),
  fc.string(),
);
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const PLAIN = { noNullPrototype: true } as const;
const seconds = fc.double({ min: 0, max: 1e9, noNaN: true });
const fault = orNull(fc.constantFrom("recipient", "their_server", "our_address", "our_network"));

const smtp: fc.Arbitrary<SmtpEvidence> = fc.record({
  class: fc.constantFrom("accepted", "mailbox_not_found", "greylisted", "timeout", "our_network"),
  fault,
  stage: fc.constantFrom("connect", "rcpt"),
  code: fc.nat(999),
  enhancedCode: orNull(text),
  reply: text,
  rule: text,
  mxHost: text,
  path: text,
  trusted: fc.boolean(),
  retryAfterS: orNull(seconds),
  latencyMs: seconds,
  tls: fc.boolean(),
  catchAll: fc.constantFrom("accepted", "refused", "inconclusive", "put_off", "not_probed"),
});

const known = {
  mx: fc.record({
    status: fc.constantFrom("ok", "implicit", "no_mx", "dns_error"),
    hosts: fc.array(text, { maxLength: 10 }),
    provider: orNull(text),
    ttlS: seconds,
    fault,
  }),
  disposable: fc.record({ listed: fc.boolean(), source: text }),
  role: orNull(text),
  freeProvider: fc.boolean(),
  smtp: orNull(smtp),
} as const;

const domain = fc.record({
  spf: orNull(fc.boolean()),
  dmarc: orNull(fc.boolean()),
  listedBy: orNull(text),
  parkedAddress: fc.boolean(),
});

const evidence: fc.Arbitrary<Evidence> = fc.oneof(
  (fc.record(known) as fc.Arbitrary<EvidenceParts>).map(evidenceOf),
  (fc.record({ ...known, domain }) as fc.Arbitrary<EvidenceParts>).map(evidenceOf),
);

const line: fc.Arbitrary<CheckOutcome> = fc.oneof(
  { weight: 6, arbitrary: evidence },
  { weight: 1, arbitrary: fc.constantFrom<CheckOutcome>(null, "overloaded", "broken") },
  {
    weight: 1,
    arbitrary: fc
      .record({ site: text, cause: fc.constantFrom<"busy" | "unfinished">("busy", "unfinished") }, PLAIN)
      .map((deferred) => ({ deferred })),
  },
);

/** As a message carries it from thread to thread. */
const crossed = (packed: PackedOutcomes) => deserialize(serialize(packed)) as PackedOutcomes;

function packed(packer: OutcomePacker, lines: readonly CheckOutcome[]): PackedOutcomes {
  for (const each of lines) packer.add(each);
  return packer.take();
}

describe("lines between threads", () => {
  it("come out as they went in, message after message", () => {
    fc.assert(
      fc.property(fc.array(fc.array(line, { maxLength: 12 }), { maxLength: 4 }), (messages) => {
        const packer = new OutcomePacker();
        for (const lines of messages) {
          const message = crossed(packed(packer, lines));
          assert.equal(message.count, lines.length);
          assert.deepEqual(readOutcomes(message), lines);
        }
      }),
    );
  });

  it("keep what rows of one domain differ in, whichever field it is", () => {
    const row = fc.record({
      of: fc.nat(1),
      field: fc.nat(13),
      smtp,
      role: orNull(fc.constantFrom("info", "abuse")),
    });
    fc.assert(
      fc.property(fc.tuple(evidence, evidence), fc.array(row, { maxLength: 30 }), (domains, rows) => {
        const base = smtpWith({});
        const fields = Object.keys(base) as (keyof SmtpEvidence)[];
        const lines = rows.map(({ of, field, smtp: other, role }): Evidence => {
          const name = fields[field % fields.length] ?? "code";
          return evidenceBut(domains[of % 2 === 0 ? 0 : 1], { role, smtp: { ...base, [name]: other[name] } });
        });
        const message = crossed(packed(new OutcomePacker(), lines));
        assert.deepEqual(readOutcomes(message), lines);
      }),
    );
  });

  it("cost two numbers a row", () => {
    const { mx, disposable } = evidenceWith();
    const rows = Array.from({ length: 11 }, (_, i) =>
      evidenceWith({ mx, disposable, smtp: smtpWith({ latencyMs: i }) }),
    );
    const one = packed(new OutcomePacker(), rows.slice(0, 1)).cells.length;
    assert.equal(packed(new OutcomePacker(), rows).cells.length, one + 20);
  });

  it("carry a text once, however many lines have it", () => {
    const { mx, disposable } = evidenceWith();
    const rows = Array.from({ length: 100 }, (_, i) =>
      evidenceWith({ mx, disposable, smtp: smtpWith({ latencyMs: i }) }),
    );
    const packer = new OutcomePacker();
    const one = packed(packer, rows.slice(0, 1)).texts.length;
    assert.equal(packed(packer, rows).texts.length, one);
  });

  it("share what they have in common, which is frozen", () => {
    const packer = new OutcomePacker();
    const probed = (latencyMs: number) => evidenceWith({ smtp: smtpWith({ latencyMs }) });
    const outcomes = [evidenceWith(), evidenceWith({ role: "info" }), probed(1), probed(2)];
    const [plain, role, first, second] = readOutcomes(crossed(packed(packer, outcomes))) as Evidence[];
    const [again] = readOutcomes(crossed(packed(packer, [evidenceWith()]))) as Evidence[];
    assert.ok(plain && role && first && second);
    assert.equal(again, plain);
    assert.notEqual(role, plain);
    assert.equal(first.facts, second.facts);
    assert.equal(first.finding, second.finding);
    assert.deepEqual([first.latencyMs, second.latencyMs], [1, 2]);
    for (const { mx } of [plain, first]) {
      assert.ok(Object.isFrozen(mx));
      assert.throws(() => (mx.hosts as string[]).push("mx.two.test"), TypeError);
    }
  });
});
