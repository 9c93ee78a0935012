import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import type { CellStyle } from "../../../../../src/features/bulk/analysis/layout.ts";
import {
  createReusableRowBuffer,
  type RowBufferFactory,
} from "../../../../../src/features/bulk/analysis/row-buffer.ts";
import { findLines } from "../../../../../src/features/bulk/csv/lines.ts";
import type { JobMaterial } from "../../../../../src/features/bulk/results/job-results.ts";
import type { JoinedRow } from "../../../../../src/features/bulk/results/join.ts";
import { renderCells } from "../../../../../src/features/bulk/results/result-cells.ts";
import { FORMATS, formatOf } from "../../../../../src/features/bulk/results/result-rows.ts";
import {
  decodeShard,
  encodeShard,
  type OwnResult,
  type Shard,
} from "../../../../../src/features/bulk/results/shard.ts";
import { TemplatedRows } from "../../../../../src/features/bulk/results/templated-rows.ts";
import type { EvidenceFinding } from "../../../../../src/features/verify/answer/evidence-finding.ts";
import { createExaminer, type ExaminerDeps } from "../../../../../src/features/verify/answer/examine.ts";
import {
  createRowFiller,
  templatedJsonOf,
  templatedResultOf,
} from "../../../../../src/features/verify/batch/fill-rows.ts";
import { parseAddress } from "../../../../../src/verification/address/address.ts";
import type { Evidence, SmtpEvidence } from "../../../../../src/verification/evidence.ts";
import { evidenceWith, smtpWith } from "../../../../support/evidence.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import fc from "../../../../support/properties.ts";

/** Results of filled templates, compared with the general renderer: later rows use the templates of earlier ones. */

const clock = createFakeClock();
const lists = {
  disposable: () => ({ listed: false, source: "none" }),
  role: () => null,
  isFree: () => false,
};
const examiner = createExaminer({ clock, lists, isPromoted: () => false } as unknown as ExaminerDeps);

const DOMAINS = [
  "one.test",
  "gmail.com",
  "googlemail.com",
  "yahoo.com",
  "shop.fastmail.com",
  "duck.com",
  "gmial.com",
  "free.tk",
  "müller.example",
  "co.uk.example",
];
// Too long to be remembered.
DOMAINS.push(`${"long.".repeat(LIMITS.check.domainNameChars / 5)}test`);
const LOCALS = [
  ...[
    "jane",
    "JANE.DOE",
    "info",
    "12345",
    "x9k2q7w4z8p1v6",
    "bcdfghjklmnpqrs",
    "o'neil",
    "=cmd",
    "a+b",
    "j.doe",
    "j.doe+x",
    "jane-x",
    "-x",
  ],
  ...["jürgen", '"a b"', '"a\\"b"', "a{b}"],
];

const email = fc.oneof(
  fc
    .tuple(fc.constantFrom(...LOCALS), fc.constantFrom(...DOMAINS))
    .map(([local, domain]) => `${local}@${domain}`),
  fc.constantFrom("nobody", "no body", "a@", "x@gmail,com", "=1+1", "ä", "a".repeat(400), ""),
);

const smtp: fc.Arbitrary<SmtpEvidence | null> = fc.option(
  fc
    .record({
      class: fc.constantFrom(
        "accepted",
        "accepted",
        "mailbox_not_found",
        "greylisted",
        "timeout",
        "mailbox_full",
      ),
      stage: fc.constantFrom("rcpt", "connect"),
      fault: fc.constantFrom(null, "recipient", "their_server", "our_network"),
      code: fc.constantFrom(0, 250, 450, 550),
      enhancedCode: fc.constantFrom(null, "5.1.1"),
      trusted: fc.boolean(),
      retryAfterS: fc.constantFrom(null, null, 60),
      latencyMs: fc.oneof(fc.nat(30), fc.constantFrom(1.5, 2 ** 33)),
      catchAll: fc.constantFrom("accepted", "refused", "refused", "inconclusive", "not_probed"),
    } as const)
    .map((change) => smtpWith(change as Partial<SmtpEvidence>)),
);

const evidence: fc.Arbitrary<Evidence> = fc
  .record({
    mx: fc.constantFrom(
      ...[
        { status: "ok", hosts: ["mx.one.test"], provider: null, ttlS: 60, fault: null },
        { status: "ok", hosts: ["mx.one.test"], preferences: [10], provider: null, ttlS: 60, fault: null },
        { status: "ok", hosts: ["mx.one.test"], preferences: [20], provider: null, ttlS: 60, fault: null },
        { status: "ok", hosts: ["mx.two.test", "mx.one.test"], provider: "google", ttlS: 60, fault: null },
        { status: "ok", hosts: ["mx1.simplelogin.co"], provider: null, ttlS: 60, fault: null },
        { status: "ok", hosts: ["mx.one.test"], provider: 'm"ü,x', ttlS: 5, fault: null },
        { status: "implicit", hosts: ["one.test"], provider: null, ttlS: 60, fault: null },
        { status: "domain_not_found", hosts: [], provider: null, ttlS: 60, fault: null },
        { status: "dns_error", hosts: [], provider: null, ttlS: 0, fault: "their_server" },
        { status: "dns_error", hosts: [], provider: null, ttlS: 0, fault: "our_network" },
        { status: "skipped", hosts: [], provider: null, ttlS: 0, fault: null },
      ].map((mx) => mx as Evidence["mx"]),
    ),
    disposable: fc.constantFrom({ listed: false, source: "none" }, { listed: true, source: "fakefilter" }),
    role: fc.constantFrom(null, null, "info"),
    freeProvider: fc.boolean(),
    domain: fc.constantFrom(
      undefined,
      { spf: true, dmarc: true, listedBy: null, parkedAddress: false },
      { spf: false, dmarc: null, listedBy: "dbl.test", parkedAddress: true },
    ),
    smtp,
  })
  .map(({ domain, ...rest }) => evidenceWith(domain === undefined ? rest : { ...rest, domain }));

const row = fc.record({
  email,
  evidence: fc.option(evidence, { freq: 10 }),
  failure: fc.constantFrom(undefined, undefined, undefined, "deadline" as const),
  cached: fc.boolean(),
  probing: fc.boolean(),
  blocked: fc.boolean(),
  overridden: fc.boolean(),
  withEvidence: fc.constantFrom(false, false, false, true),
  storedAt: fc.constantFrom(0, 1_700_000_000_000),
  ttlS: fc.constantFrom(0, 60),
});
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;

function asked({ email, probing, blocked, overridden, withEvidence, ...found }: Row) {
  const overlay = { isBlocked: () => blocked, isDisposable: () => overridden };
  const question = examiner.understand(email, withEvidence, { teamId: "team_1", probing, overlay });
  const { evidence, storedAt, ttlS, cached, failure } = found;
  // As the look-up does: a malformed address has no entry, and neither has a failure.
  const entry = evidence === null || question.address === null ? null : { evidence, storedAt, ttlS };
  const finding =
    entry === null ? { entry, cached: false, ...(failure ? { failure } : {}) } : { entry, cached };
  return { question, finding: finding as EvidenceFinding };
}

const styles: fc.Arbitrary<CellStyle> = fc.record({
  delimiter: fc.constantFrom(",", ";", "\t", "|", "@", "e", "1"),
  escapeFormulas: fc.boolean(),
});

/** Records plain and odd, by turns. */
function joinedFrom(shard: Shard, rows: number, delimiter: string): JoinedRow[] {
  const records = ["a,b;c", '"x,y",2', " spaced ,3", "=1+1,4", "ü\t\\,5", "6", "a ,b", "a, b", '"x""y" z,2'];
  const lines = findLines(Buffer.from(records.join("\n")), { delimiter, emailColumn: 0 }, records.length);
  return Array.from({ length: rows }, (_, row) => {
    const result = shard.get(row);
    assert.ok(result);
    return {
      row,
      lines,
      offset: row % records.length,
      duplicateOf: row % 5 === 4 ? row - 1 : null,
      result,
    };
  });
}

function materialOf({ delimiter, escapeFormulas }: CellStyle): JobMaterial {
  const layout = { delimiter, emailColumn: 0, columns: 2, header: ["a", "b"], bom: false };
  return { layout, escapeFormulas, hasColumns: true, withEvidence: false } as JobMaterial;
}

describe("a result that fills a template", () => {
  it("is that of the general renderer, as JSON, as an object and as cells, in a shard too", async () => {
    let count = 0;
    const check = async (rows: Row[], style: CellStyle) => {
      const filler = createRowFiller({ clock, examiner, limits: LIMITS.bulk.templates });
      const own: OwnResult[] = [];
      const templatedRows = new TemplatedRows();
      const wanted = rows.map((one, offset) => {
        const { question, finding } = asked(one);
        const { result } = examiner.answer(question, finding);
        const filled = filler.fill(question, finding);
        if (filled === null) own.push({ offset, result });
        if (filled === null) return result;
        templatedRows.add(offset, filled);
        count += 1;
        assert.equal(templatedJsonOf(filled), JSON.stringify(result));
        assert.deepEqual(templatedResultOf(filled), result);
        return result;
      });
      const shard = await decodeShard(await encodeShard(own, style, templatedRows));
      assert.equal(shard.size, rows.length);
      for (const [offset, result] of wanted.entries()) {
        const stored = shard.get(offset);
        assert.ok(stored);
        assert.equal(stored.verdict, result.verdict);
        assert.equal(String(stored.json), JSON.stringify(result));
        assert.equal(stored.csv.toString("latin1"), renderCells(result, style));
      }
      const general = await decodeShard(
        await encodeShard(
          wanted.map((result, offset) => ({ offset, result })),
          style,
        ),
      );
      for (const format of FORMATS) {
        const written = (from: Shard, room?: RowBufferFactory) =>
          formatOf(format, materialOf(style), room).rows(joinedFrom(from, rows.length, style.delimiter));
        assert.equal(String(written(shard)), String(written(general)));
        const room = createReusableRowBuffer();
        assert.deepEqual(Buffer.from(written(shard, room)), written(general));
        assert.deepEqual(written(shard, room), written(general), "the same room once more");
      }
    };
    const arrays = fc.array(row, { minLength: 20, maxLength: 60 });
    await fc.assert(fc.asyncProperty(arrays, styles, check), { numRuns: 300 });
    assert.ok(count > 300, `${count} rows fill a template`);
  });

  it("applies to most rows of a list, whatever the row before was", () => {
    const filler = createRowFiller({ clock, examiner, limits: LIMITS.bulk.templates });
    const overlay = { isBlocked: () => false, isDisposable: () => false };
    const asker = { teamId: "team_1", probing: true, overlay };
    for (let i = 0; i < 1_000; i++) {
      const question = examiner.understand(`user${i}@d${i % 7}.test`, false, asker);
      const evidence = evidenceWith({ smtp: smtpWith({ latencyMs: i }) });
      const finding: EvidenceFinding = { entry: { evidence, storedAt: 1_000 + i, ttlS: 60 }, cached: true };
      const filled = filler.fill(question, finding);
      assert.ok(filled);
      assert.equal(templatedJsonOf(filled), JSON.stringify(examiner.answer(question, finding).result));
    }
  });

  it("is made of what domains that are answered alike have in common, unless the name itself says something", () => {
    let rendered = 0;
    const counting: typeof examiner = {
      ...examiner,
      answer(question, finding) {
        rendered += 1;
        return examiner.answer(question, finding);
      },
    };
    const filler = createRowFiller({ clock, examiner: counting, limits: LIMITS.bulk.templates });
    const overlay = { isBlocked: () => false, isDisposable: () => false };
    const asker = { teamId: "team_1", probing: true, overlay };
    const renderedFor = (domain: string, hosts: string[]) => {
      const before = rendered;
      const question = examiner.understand(`user@${domain}`, false, asker);
      const mx = { ...evidenceWith().mx, hosts };
      const evidence = evidenceWith({ mx, smtp: smtpWith() });
      const finding: EvidenceFinding = { entry: { evidence, storedAt: 5, ttlS: 60 }, cached: true };
      const filled = filler.fill(question, finding);
      const wanted = JSON.stringify(examiner.answer(question, finding).result);
      if (filled !== null) assert.equal(templatedJsonOf(filled), wanted);
      return rendered - before;
    };
    for (let i = 0; i < 1_000; i++)
      assert.equal(renderedFor(`customer${i}.test`, ["mx.one.test"]), i === 0 ? 1 : 0);
    assert.equal(renderedFor("customer1.test", ["mx.two.test"]), 1, "another exchanger");
    assert.equal(renderedFor("customer2.test", ["mx.two.test"]), 0);
    assert.equal(renderedFor("customer.tk", ["mx.one.test"]), 1, "a name that is held against its addresses");
    assert.equal(renderedFor("another.tk", ["mx.one.test"]), 0);
    assert.equal(
      renderedFor("gmial.com", ["mx.one.test"]),
      1,
      "a name that is mistyped goes the general way",
    );
    assert.equal(renderedFor("gmial.com", ["mx.one.test"]), 1);
  });

  it("keeps no more templates than it may, and is right when they are dropped", () => {
    const limits = { templates: 50, domains: 1_000, perDomain: 4 };
    const filler = createRowFiller({ clock, examiner, limits });
    const overlay = { isBlocked: () => false, isDisposable: () => false };
    const asker = { teamId: "team_1", probing: true, overlay };
    let most = 0;
    for (let i = 0; i < 4 * limits.templates; i++) {
      // By turns more than one domain may have, and one for each domain.
      const domain = i % 2 === 0 ? "same.test" : `d${i}.test`;
      const question = examiner.understand(`user@${domain}`, false, asker);
      const mx = { ...evidenceWith().mx, hosts: [`mx${i}.test`] };
      const finding: EvidenceFinding = {
        entry: { evidence: evidenceWith({ mx }), storedAt: 5, ttlS: 60 },
        cached: false,
      };
      const filled = filler.fill(question, finding);
      assert.ok(filled && parseAddress(filled.email).ok);
      assert.equal(templatedJsonOf(filled), JSON.stringify(examiner.answer(question, finding).result));
      assert.ok(filler.size().templates <= limits.templates, `${filler.size().templates} templates`);
      // One domain has a list of its own.
      assert.ok(
        filler.size().domainReferences <= filler.size().templates + 1,
        "no domain keeps one that was dropped",
      );
      most = Math.max(most, filler.size().templates);
    }
    assert.equal(most, limits.templates, "as many as it may");
  });

  it("keeps no more domains that are answered in several ways than it may, and is right when they are dropped", () => {
    const limits = { templates: 50, domains: 100, perDomain: 4 };
    const filler = createRowFiller({ clock, examiner, limits });
    const overlay = { isBlocked: () => true, isDisposable: () => false };
    const asker = { teamId: "team_1", probing: true, overlay };
    const fill = (local: string, domain: number) => {
      const question = examiner.understand(`${local}@d${domain}.test`, false, asker);
      const finding: EvidenceFinding = {
        entry: { evidence: evidenceWith(), storedAt: 5, ttlS: 0 },
        cached: false,
      };
      return filler.fill(question, finding);
    };
    const [name, digits] = [fill("user", 0), fill("12345", 0)];
    assert.ok(name && digits && name.template !== digits.template);
    let most = 0;
    for (let i = 0; i < 4 * limits.domains; i++) {
      // Each by turns, and those of a while ago once more.
      for (const domain of [i, Math.max(0, i - 2 * limits.domains)]) {
        assert.equal(fill("user", domain)?.template, name.template, "all are answered alike");
        assert.equal(fill("12345", domain)?.template, digits.template, "all are answered alike");
      }
      assert.ok(
        filler.size().domainReferences <= limits.domains,
        `${filler.size().domainReferences} numbers`,
      );
      most = Math.max(most, filler.size().domainReferences);
    }
    assert.equal(most, limits.domains, "as many as it may");
    assert.equal(filler.size().templates, 2);
  });

  it("keeps nothing of a domain that is answered in one way", () => {
    const limits = { templates: 50, domains: 100, perDomain: 4 };
    const asker = {
      teamId: "team_1",
      probing: true,
      overlay: { isBlocked: () => true, isDisposable: () => false },
    };
    const finding: EvidenceFinding = {
      entry: { evidence: evidenceWith(), storedAt: 5, ttlS: 0 },
      cached: false,
    };
    // Two that know each other's domains, and find nothing of each other's.
    const [one, other] = [0, 1].map(() => createRowFiller({ clock, examiner, limits }));
    const drawAll = (filler = one) => {
      const templates = new Set<unknown>();
      for (let i = 0; i < 200; i++)
        templates.add(filler?.fill(examiner.understand(`user@d${i}.test`, false, asker), finding)?.template);
      assert.deepEqual(filler?.size(), { templates: 1, domainReferences: 1 });
      return templates;
    };
    const [ofOne] = drawAll(one);
    const [ofOther] = drawAll(other);
    assert.ok(ofOne && ofOther && ofOne !== ofOther);
    assert.deepEqual([...drawAll(one)], [ofOne]);
  });

  it("keeps no domain of a long name, which would keep its chunk", () => {
    const filler = createRowFiller({
      clock,
      examiner,
      limits: { templates: 50, domains: 100, perDomain: 4 },
    });
    const asker = {
      teamId: "team_1",
      probing: true,
      overlay: { isBlocked: () => true, isDisposable: () => false },
    };
    const finding: EvidenceFinding = {
      entry: { evidence: evidenceWith(), storedAt: 5, ttlS: 0 },
      cached: false,
    };
    const fill = (domain: string) =>
      filler.fill(examiner.understand(`user@${domain}`, false, asker), finding);
    const most = `${"a.".repeat((LIMITS.check.domainNameChars - 4) / 2)}test`;
    assert.equal(most.length, LIMITS.check.domainNameChars);
    assert.ok(fill(most));
    assert.equal(filler.size().domainReferences, 1);
    const first = fill(`b${most}`);
    assert.ok(first);
    assert.equal(fill(`b${most}`)?.template, first.template, "found by what it is made of");
    assert.equal(filler.size().domainReferences, 1);
  });
});
