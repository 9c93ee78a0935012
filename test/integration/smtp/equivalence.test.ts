import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { classify } from "../../../src/verification/classify/classify.ts";
import fc from "../../support/properties.ts";
import { createPoolFixture } from "./fixture.ts";
import { type Answer, createScriptedServer, EHLO_PIPELINING } from "./scripted-server.ts";

/**
 * The server's answer at RCPT, by the first word of the mailbox. `{ close }` closes the connection after the text; null
 * never answers.
 */
const AT_RCPT: Record<string, Answer> = {
  exists: "250 2.1.5 Ok\r\n",
  missing: "550 5.1.1 User unknown\r\n",
  lines: "550-5.1.1 The address you entered\r\n550-5.1.1 does not\r\n550 5.1.1 exist here\r\n",
  disabled: "550 5.2.1 Mailbox disabled\r\n",
  full: "452 4.2.2 Mailbox full\r\n",
  grey: "450 4.2.0 Greylisted, try again in 300 seconds\r\n",
  rate: "451 4.7.1 Too many recipients, slow down\r\n",
  policy: "550 5.7.1 Message rejected by local policy\r\n",
  blocked: "554 5.7.1 Client host [127.0.0.1] blocked using zen.spamhaus.org\r\n",
  odd: "354 Go ahead\r\n",
  twice: "250 2.1.5 Ok\r\n250 2.1.5 Ok\r\n",
  refusedtwice: "550 5.1.1 User unknown\r\n550 5.1.1 User unknown\r\n",
  garbage: "\u00ff\u00fe no reply\r\n",
  mixed: "250-2.1.5 Ok\r\n550 5.1.1 User unknown\r\n",
  long: "550 ".padEnd(LIMITS.smtp.replyLineBytes + 10, "x"),
  silent: null,
  /** Leaves the reply out and goes on. */
  omitted: "",
  drop: { close: "" },
  accepteddrop: { close: "250 2.1.5 Ok\r\n" },
  refuseddrop: { close: "550 5.1.1 User unknown\r\n" },
  bye: { close: "421 4.7.0 Enough\r\n" },
  rsetdrop: "250 2.1.5 Ok\r\n",
  rsetrefused: "550 5.1.1 User unknown\r\n",
};

/** A deviation of the server in a session, after a number of events; the same for every session. */
interface SessionHabit {
  kind:
    | "none"
    | "bye_at_mail"
    | "drop_at_mail"
    | "bye_after_rejections"
    | "recipient_limit"
    | "silent_after_rejections";
  after: number;
}

/** Among the lines of a session: nothing more is answered. */
const STUCK = "(stuck)";
const RECIPIENT_LIMIT = "452 4.5.3 Too many recipients\r\n";

/** A server that a session cannot tell from another one of its kind: it remembers nothing beyond the session. */
function scriptOf(habit: SessionHabit, pipelining: boolean, onSilent: () => void) {
  return (line: string, { lines }: { lines: string[] }): Answer | undefined => {
    const silence = () => {
      onSilent();
      lines.push(STUCK);
      return null;
    };
    if (lines.includes(STUCK)) return null;
    if (line.startsWith("EHLO")) return pipelining ? EHLO_PIPELINING : "250 mx.test\r\n";
    const count = (start: string) => lines.filter((earlier) => earlier.startsWith(start)).length;
    const rejections = lines.filter((earlier) =>
      /^RCPT TO:<(missing|lines|disabled|policy)/.test(earlier),
    ).length;
    if (line.startsWith("MAIL") && count("MAIL") >= habit.after) {
      if (habit.kind === "bye_at_mail") return { close: "421 4.7.0 Closing\r\n" };
      if (habit.kind === "drop_at_mail") return { close: "" };
    }
    if (line === "RSET") {
      const last = lines.findLast((earlier) => earlier.startsWith("RCPT")) ?? "";
      if (last.includes("<rsetdrop")) return { close: "" };
      if (last.includes("<rsetrefused")) return "503 5.5.1 Bad sequence\r\n";
    }
    if (!line.startsWith("RCPT")) return undefined;
    if (habit.kind === "recipient_limit" && count("RCPT") >= habit.after) return RECIPIENT_LIMIT;
    if (habit.kind === "bye_after_rejections" && rejections >= habit.after)
      return { close: "421 4.7.0 Too many errors\r\n" };
    if (habit.kind === "silent_after_rejections" && rejections >= habit.after) return silence();
    const kind = /<([a-z]+)/.exec(line)?.[1] ?? "";
    const answer = AT_RCPT[kind];
    if (answer === "") onSilent();
    return answer === null ? silence() : answer;
  };
}

/** Class and stage of each mailbox's end, all asked at once of one session at a time. */
async function verdicts(
  mailboxes: readonly string[],
  habit: SessionHabit,
  depth: number | null,
): Promise<{ ends: string[]; burst: number }> {
  let silences = 0;
  const server = await createScriptedServer(scriptOf(habit, depth !== null, () => silences++));
  const fixture = createPoolFixture(server.port);
  const policy = { maxConnections: 1, rejectionsPerSession: 1_000, pipelineDepthMax: depth ?? 1 };
  let left = mailboxes.length;
  let settled = () => {};
  const asked = mailboxes.map((mailbox, i) =>
    fixture.rcpt(`${mailbox}.${i}@x.test`, policy).finally(() => {
      left--;
      settled();
    }),
  );
  // Time moves only where the one session waits for a server that has fallen silent.
  for (let seen = 0; left > 0; ) {
    await Promise.race([server.until(() => silences > seen), new Promise<void>((done) => (settled = done))]);
    if (silences === seen) continue;
    seen = silences;
    await fixture.clock.advanceAsync(LIMITS.smtp.commandTimeoutMs);
  }
  const outcomes = await Promise.all(asked);
  const ends = outcomes.map(verdictOf);
  const burst = server.maxBurst;
  await fixture.end();
  await server.close();
  return { ends, burst };
}

function verdictOf(outcome: RcptOutcome): string {
  const self = { heloName: "probe.test", addresses: ["127.0.0.1"] };
  return classify(outcome, { provider: null, self }).class;
}

const mailbox = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("exists", "missing") },
  // A left out reply shows when the last one does not come: a server that then hangs up would hide it.
  {
    weight: 2,
    arbitrary: fc.constantFrom(...Object.keys(AT_RCPT).filter((kind) => kind !== "omitted")),
  },
);
/**
 * One positive reply too many, and a closed connection in place of the last reply: nothing shows that the replies are
 * shifted by one. In lock step each would have been awaited. All are accepted, which is correct.
 */
const hidesItsSlip = (mailboxes: readonly string[]) =>
  mailboxes.includes("twice") && mailboxes.some((kind) => kind === "rsetdrop" || kind === "accepteddrop");
const habits = fc.record<SessionHabit>({
  kind: fc.constantFrom<SessionHabit["kind"][]>(
    "none",
    "none",
    "bye_at_mail",
    "drop_at_mail",
    "bye_after_rejections",
    "recipient_limit",
    "silent_after_rejections",
  ),
  after: fc.integer({ min: 1, max: 6 }),
});

describe("a pipelined probe and one in lock step", () => {
  for (const kind of Object.keys(AT_RCPT))
    it(`tell the same of ${kind} among others`, async () => {
      const mailboxes = [...Array(8).fill("exists"), "missing", kind, "exists", kind, "missing", "exists"];
      const none = { kind: "none", after: 1 } as const;
      const lockStep = await verdicts(mailboxes, none, null);
      const pipelined = await verdicts(mailboxes, none, LIMITS.smtp.pipelineDepthMax);
      assert.deepEqual(pipelined.ends, lockStep.ends);
      assert.equal(lockStep.burst, 1);
      assert.ok(pipelined.burst > 3, "nothing was pipelined");
    });

  it("tell the same where replies are left out", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("exists", "missing", "omitted"), { minLength: 2, maxLength: 12 }),
        async (mailboxes) => {
          const none = { kind: "none", after: 1 } as const;
          const lockStep = await verdicts(mailboxes, none, null);
          const pipelined = await verdicts(mailboxes, none, LIMITS.smtp.pipelineDepthMax);
          assert.deepEqual(pipelined.ends, lockStep.ends);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("tell the same of every mailbox, whatever servers do to sessions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(mailbox, { minLength: 2, maxLength: 16 }).filter((mailboxes) => !hidesItsSlip(mailboxes)),
        habits,
        fc.integer({ min: 2, max: LIMITS.smtp.pipelineDepthMax }),
        async (mailboxes, habit, depth) => {
          const lockStep = await verdicts(mailboxes, habit, null);
          const pipelined = await verdicts(mailboxes, habit, depth);
          assert.deepEqual(pipelined.ends, lockStep.ends);
        },
      ),
      { numRuns: 60 },
    );
  });
});
