import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { classify, redactReply, type SelfIdentity } from "../../../src/check/classify/classify.ts";
import { delayOf } from "../../../src/check/classify/delay.ts";
import { HeardReplies, saidOf } from "../../../src/check/heard.ts";
import type { RcptOutcome } from "../../../src/smtp/outcome.ts";
import { createReplyParser, type Reply } from "../../../src/smtp/reply.ts";

type Outcome = Extract<RcptOutcome, { kind: "reply" }>;

/** Ways of one host. */
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
function parsed(line: string): Reply {
  const replies: Reply[] = [];
  const fault = createReplyParser().push(
    Buffer.from(`${line}\r\n`, "latin1"),
    (reply) => replies.push(reply) > 0,
  );
  assert.equal(fault, null);
  return replies[0] ?? assert.fail("no reply");
}

interface Heard {
  line: string;
  local: string;
  way: 0 | 1;
  tls: boolean;
  stage: "mail" | "rcpt";
  provider: string | null;
}

const heard: fc.Arbitrary<Heard> = fc.record({
  line: fc.constantFrom(...LINES),
  local: fc.constantFrom(...LOCALS),
  way: fc.constantFrom(0, 1),
  tls: fc.boolean(),
  stage: fc.constantFrom("rcpt", "rcpt", "mail"),
  provider: fc.constantFrom(null, "google"),
});

function question({ line, local, way, tls, stage, provider }: Heard) {
  const address = `${local}@example.test`;
  const reply = parsed(line.replace("%", address));
  const at = { host: "mx.test", address: "192.0.2.1", path: `way${way}`, tls, latencyMs: 1 };
  const outcome: Outcome = { kind: "reply", stage, reply, ...at };
  const self = SELVES[way] ?? assert.fail("no such way");
  return { outcome, context: { provider, self }, of: { address, local } };
}

describe("what a host's replies were read as", () => {
  it("is what each of them is read as by itself, whoever is asked about, and in whatever order they come", () => {
    fc.assert(
      fc.property(fc.array(heard, { maxLength: 60 }), (stories) => {
        const replies = new HeardReplies();
        for (const story of stories) {
          const { outcome, context, of } = question(story);
          const { ruling, said } = replies.read(outcome, context, of);
          assert.deepEqual(ruling, classify(outcome, context));
          assert.deepEqual(said ?? saidOf(outcome, ruling, context, of.address), {
            class: ruling.class,
            fault: ruling.fault,
            stage: outcome.stage,
            code: outcome.reply.code,
            enhancedCode: outcome.reply.enhanced,
            reply: redactReply(outcome.reply, of.local, context.self),
            rule: ruling.rule,
            mxHost: "mx.test",
            path: outcome.path,
            retryAfterS: delayOf(outcome.reply, ruling.class),
            tls: outcome.tls,
          });
        }
      }),
    );
  });

  it("is one object for all who are answered alike, and nobody's whose local part stands in the reply", () => {
    const replies = new HeardReplies();
    const story: Heard = {
      ...{ line: "550 5.1.1 User unknown", way: 0, tls: false },
      stage: "rcpt",
      provider: null,
      local: "",
    };
    const said = ["jane", "joe", "user", "jim"].map((local) => {
      const { outcome, context, of } = question({ ...story, local });
      return replies.read(outcome, context, of).said;
    });
    assert.ok(said[0] !== null);
    assert.deepEqual([said[1] === said[0], said[2], said[3] === said[0]], [true, null, true]);
  });
});
