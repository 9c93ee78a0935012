import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { createReplyParser, type SmtpReply } from "../../../src/smtp/wire/reply.ts";
import { classify, redactReply, type SelfIdentity } from "../../../src/verification/classify/classify.ts";
import { delayOf } from "../../../src/verification/classify/delay.ts";
import { ReplyReadings, replyEvidenceOf } from "../../../src/verification/reply-readings.ts";
import fc from "../../support/properties.ts";

type Outcome = Extract<RcptOutcome, { kind: "reply" }>;

/** Our identities; on a route the address changes when a server shows another one as ours. */
const SELVES: SelfIdentity[] = [
  { heloName: "probe.our.test", addresses: ["192.0.2.9"] },
  { heloName: "probe", addresses: [], mailFrom: "verify@our.test" },
];

const LINES = [
  ...[
    "250 2.1.5 Ok",
    "250 ok",
    "550 5.1.1 User unknown",
    "550 no such mailbox here",
    "452 4.2.2 Mailbox full",
  ],
  ...["450 4.2.0 Greylisted, try again in 300 seconds", "550 5.7.1 Message rejected by local policy"],
  ...["554 5.7.1 Client host [192.0.2.9] blocked using zen.spamhaus.org", "550 <%>: user unknown"],
  ...["451 4.7.1 probe.our.test, slow down", "550 5.2.1 disabled", "551 user not local"],
  ...[
    "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT012.eop-EUR03.test]",
    "550 5.7.1 192.0.2.9 is blocked",
  ],
];
const LOCALS = [
  "jane.doe",
  "user",
  "unknown",
  "ok",
  "USER",
  "user+tag",
  '"user unknown"',
  "günther",
  "mailbox",
  "300",
];

/** As a session reads it: the parser hands out the same object for the same line. */
function parsed(line: string): SmtpReply {
  const replies: SmtpReply[] = [];
  const fault = createReplyParser().push(
    Buffer.from(`${line}\r\n`, "latin1"),
    (reply) => replies.push(reply) > 0,
  );
  assert.equal(fault, null);
  return replies[0] ?? assert.fail("no reply");
}

interface ReplyCase {
  line: string;
  local: string;
  host: string;
  path: string;
  self: 0 | 1;
  tls: boolean;
  stage: "mail" | "rcpt";
  provider: string | null;
}

const replyCase: fc.Arbitrary<ReplyCase> = fc.record({
  line: fc.constantFrom(...LINES),
  local: fc.constantFrom(...LOCALS),
  host: fc.constantFrom("mx.test", "mx2.test"),
  path: fc.constantFrom("direct", "192.0.2.9"),
  self: fc.constantFrom(0, 1),
  tls: fc.boolean(),
  stage: fc.constantFrom("rcpt", "rcpt", "mail"),
  provider: fc.constantFrom(null, "google", "microsoft365"),
});

function question({ line, local, host, path, self: which, tls, stage, provider }: ReplyCase) {
  const address = `${local}@example.test`;
  const reply = parsed(line.replace("%", address));
  const at = { host, address: "192.0.2.1", path, tls, latencyMs: 1 };
  const outcome: Outcome = { kind: "reply", stage, reply, ...at };
  const self = SELVES[which] ?? assert.fail("no such self");
  return { outcome, context: { provider, self }, of: { address, local } };
}

const BASE_CASE: ReplyCase = {
  ...{ line: "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR03FT012.eop-EUR03.test]" },
  ...{ local: "jane", host: "mx.test", path: "direct", self: 0, tls: false, stage: "rcpt", provider: null },
};

/** Changes that must make the stored form of the same reply differ. */
const CHANGES: Record<string, Partial<ReplyCase>> = {
  "the host": { host: "mx2.test" },
  "the route": { path: "192.0.2.9" },
  TLS: { tls: true },
  "the stage": { stage: "mail" },
  "the provider": { provider: "microsoft365" },
  "our name": { self: 1 },
};

function read(replies: ReplyReadings, story: Partial<ReplyCase>) {
  const { outcome, context, of } = question({ ...BASE_CASE, ...story });
  return replies.read(outcome, context, of);
}

const reportFor = (replies: ReplyReadings, story: Partial<ReplyCase>) => read(replies, story).said;

describe("what a host's replies were read as", () => {
  it("is what each of them is read as by itself, for every recipient, and in whatever order they come", () => {
    fc.assert(
      fc.property(fc.array(replyCase, { maxLength: 60 }), (cases) => {
        const replies = new ReplyReadings();
        for (const story of cases) {
          const { outcome, context, of } = question(story);
          const { ruling, said } = replies.read(outcome, context, of);
          assert.deepEqual(ruling, classify(outcome, context));
          assert.deepEqual(said ?? replyEvidenceOf(outcome, ruling, context, of.address), {
            class: ruling.class,
            fault: ruling.fault,
            stage: story.stage,
            code: outcome.reply.code,
            enhancedCode: outcome.reply.enhanced,
            reply: redactReply(outcome.reply, of.local, context.self),
            rule: ruling.rule,
            mxHost: story.host,
            path: story.path,
            retryAfterS: delayOf(outcome.reply, ruling.class),
            tls: story.tls,
          });
        }
      }),
    );
  });

  it("is one object for all equal answers, except those with the local part in the reply", () => {
    const replies = new ReplyReadings();
    const line = "550 5.1.1 User unknown";
    const said = ["jane", "joe", "user", "jim"].map((local) => reportFor(replies, { line, local }));
    assert.ok(said[0] !== null);
    assert.deepEqual([said[1] === said[0], said[2], said[3] === said[0]], [true, null, true]);
  });

  for (const [what, other] of Object.entries(CHANGES)) {
    it(`is another thing where ${what} is another`, () => {
      const replies = new ReplyReadings();
      const line = "self" in other ? "550 5.7.1 192.0.2.9 is blocked" : BASE_CASE.line;
      const first = read(replies, { line });
      const second = read(replies, { line, ...other });
      assert.ok(first.said !== null && second.said !== null);
      assert.notEqual(second.said, first.said);
      assert.notDeepEqual(second, first);
      assert.deepEqual(second, read(new ReplyReadings(), { line, ...other }));
      assert.equal(reportFor(replies, { line }), first.said);
    });
  }

  it("is kept of a few replies, the last ones: what comes once with an id in it keeps nothing out", () => {
    const replies = new ReplyReadings();
    const first = reportFor(replies, {});
    for (let id = 0; id < 100; id++) reportFor(replies, { line: `550 5.1.1 No mailbox, case ${id}-x` });
    const again = reportFor(replies, {});
    assert.deepEqual(again, first);
    assert.notEqual(again, first);
    assert.equal(reportFor(replies, {}), again);
  });

  it("is not kept of a long reply", () => {
    const replies = new ReplyReadings();
    for (const [chars, isKept] of [
      [140, true],
      [170, false],
    ] as const)
      assert.equal(reportFor(replies, { line: `550 5.1.1 ${"x".repeat(chars)}` }) !== null, isKept);
  });
});
