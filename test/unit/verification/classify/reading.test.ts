import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";
import { createReplyParser, type SmtpReply } from "../../../../src/smtp/wire/reply.ts";
import { classify, redactReply, type SelfIdentity } from "../../../../src/verification/classify/classify.ts";
import { classifyFor, redactedReplyFor } from "../../../../src/verification/classify/reading.ts";
import { RULES } from "../../../../src/verification/classify/rules/rules.ts";
import fc from "../../../support/properties.ts";

const SELVES: SelfIdentity[] = [
  { heloName: "probe.our.test", addresses: ["192.0.2.9"] },
  { heloName: "probe", addresses: [], mailFrom: "verify@our.test" },
];

function parsed(line: string): SmtpReply | null {
  let found: SmtpReply | null = null;
  createReplyParser().push(Buffer.from(`${line}\r\n`, "latin1"), (reply) => {
    found = reply;
    return true;
  });
  return found;
}

type Outcome = Extract<RcptOutcome, { kind: "reply" }>;

function outcomeOf(reply: SmtpReply, stage: Outcome["stage"]): Outcome {
  const at = { host: "mx.test", address: "192.0.2.1", path: "direct", tls: false, latencyMs: 1 };
  return { kind: "reply", stage, reply, ...at };
}

/** Local parts and domains, also such as stand in replies for something else. */
const local = fc.constantFrom(
  ...[
    "john.doe",
    "user",
    "unknown",
    "rejected",
    "o'brien",
    "a+tag",
    "unknown+tag",
    '"user unknown"',
    "5min",
    "x",
  ],
  ...["MixedCase", "mailbox", "not.found", "blocked", "verify", "a=b", "günther", "probe", "550"],
);
const domain = fc.constantFrom("x.test", "our.test", "probe.our.test", "example.com", "unknown.test");
const said = fc.oneof(
  fc.constantFrom(...RULES.map(({ example }) => example)),
  fc.constantFrom(
    ...["550 5.1.1 <%>: Recipient address rejected: User unknown in virtual mailbox table", "550 % unknown"],
    ...["550 5.1.1 %: no such user", "553 <%>, <%> are not here", "550 <%>x unknown", "550 rcpt=% unknown"],
    ...["450 4.2.0 <%>: Recipient address rejected: Greylisted, see %", "550 no mailbox for ? here"],
    ...["554 5.7.1 <%>: client [192.0.2.9] blocked", "550 a@b.test and % are unknown", "550 %40 unknown"],
    ...[
      "250 2.1.5 <%> ok",
      "250 ok",
      '550 "%" not found',
      "550 %, verify@our.test: denied",
      "550-5.1.1 <%> no",
    ],
  ),
  fc.string({ maxLength: 60 }).map((text) => `550 ${text.replaceAll(/[\r\n]/g, "")}`),
);

describe("what is remembered of replies", () => {
  it("is what they are read as without it, for any address, way and stage", () => {
    const asked = fc.record({
      said,
      local,
      domain,
      self: fc.constantFrom(...SELVES),
      provider: fc.constantFrom(null, "google", "microsoft365"),
      stage: fc.constantFrom<Outcome["stage"]>("rcpt", "mail", "greeting"),
    });
    // Questions run one after another, so that each may find readings remembered from earlier ones.
    fc.assert(
      fc.property(fc.array(asked, { minLength: 1, maxLength: 20 }), (questions) => {
        for (const question of questions) {
          const { self, provider, stage } = question;
          const address = `${question.local}@${question.domain}`;
          const reply = parsed(
            question.said.replaceAll("%", () => address).replaceAll("?", () => question.local),
          );
          if (reply === null) continue;
          const outcome = outcomeOf(reply, stage);
          const context = { provider, self };
          assert.deepEqual(classifyFor(outcome, context, address), classify(outcome, context));
          assert.equal(redactedReplyFor(outcome, context, address), redactReply(reply, question.local, self));
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("stays while it is said again, however many others say something of their own in between", () => {
    const address = "john@x.test";
    const context = { provider: null, self: SELVES[0] ?? assert.fail() };
    const hear = (text: string) => {
      const reply = parsed(`550 5.1.1 <${address}>: ${text}`) ?? assert.fail(text);
      return classifyFor(outcomeOf(reply, "rcpt"), context, address);
    };
    const common = hear("no such user, as all say");
    const rare = hear("no such user, as one said once");
    for (let i = 0; i < 4_000; i++) {
      hear(`no such user, case ${i}`);
      if (i % 1_000 === 0) assert.equal(hear("no such user, as all say"), common);
    }
    assert.notEqual(hear("no such user, as one said once"), rare, "no more than so many are remembered");
  });
});
