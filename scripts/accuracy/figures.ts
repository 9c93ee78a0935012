import type { RcptOutcome } from "../../src/smtp/wire/outcome.ts";
import type { SmtpReply } from "../../src/smtp/wire/reply.ts";
import { classify } from "../../src/verification/classify/classify.ts";
import { FAULT_OF } from "../../src/verification/classify/rule.ts";
import type { SmtpClass } from "../../src/verification/evidence.ts";
import { type Labelled, parsedReply, SELF } from "../../test/corpus/labelled.ts";

/** A labelled row, with the class that the rules gave it, and the rule that decided. */
export interface Judged {
  row: Labelled;
  given: SmtpClass;
  rule: string;
}

export interface Share {
  hits: number;
  of: number;
}

export interface Figures {
  /** Unknown users that were given that very class. */
  unknownUsers: Share;
  /** Unknown and disabled mailboxes for which the answer is `invalid`. */
  condemned: Share;
  /** Faults of the recipient (unknown, disabled, full) that were given to the recipient. */
  recipientFaults: Share;
  /** Rows with exactly the class they are labelled with. */
  exact: Share;
  /** Policy, transient, sender-side and protocol replies classified as `invalid`. Must be empty. */
  falseInvalid: Judged[];
  /** Full mailboxes and accepted recipients classified as `invalid`. Must be empty too. */
  livingCondemned: Judged[];
}

const condemns = (given: SmtpClass) => given === "mailbox_not_found" || given === "mailbox_disabled";

/** The outcome of a probe that got the reply of `row`, or `reply` in its place. */
export function outcomeOf(row: Labelled, reply: SmtpReply = parsedReply(row.lines)): RcptOutcome {
  return {
    kind: "reply",
    stage: row.stage,
    reply,
    host: "mx.example.com",
    address: "198.51.100.25",
    path: "direct",
    tls: true,
    latencyMs: 1,
  } as RcptOutcome;
}

/** @param withProvider classifies with the row's provider; else as for an unknown server */
export function judge(rows: readonly Labelled[], withProvider: boolean): Judged[] {
  return rows.map((row) => {
    const provider = withProvider ? row.provider : null;
    const found = classify(outcomeOf(row), { provider, self: SELF });
    return { row, given: found.class, rule: found.rule };
  });
}

function share(judged: readonly Judged[], hit: (one: Judged) => boolean): Share {
  return { hits: judged.filter(hit).length, of: judged.length };
}

export function figuresOf(judged: readonly Judged[]): Figures {
  const labelled = (wanted: (label: SmtpClass) => boolean) => judged.filter(({ row }) => wanted(row.label));
  const guiltless = labelled((label) => FAULT_OF[label] !== "recipient" && label !== "accepted");
  const living = labelled((label) => label === "mailbox_full" || label === "accepted");
  return {
    unknownUsers: share(
      labelled((label) => label === "mailbox_not_found"),
      ({ given }) => given === "mailbox_not_found",
    ),
    condemned: share(labelled(condemns), ({ given }) => condemns(given)),
    recipientFaults: share(
      labelled((label) => FAULT_OF[label] === "recipient"),
      ({ given }) => FAULT_OF[given] === "recipient",
    ),
    exact: share(judged, ({ row, given }) => row.label === given),
    falseInvalid: guiltless.filter(({ given }) => condemns(given)),
    livingCondemned: living.filter(({ given }) => condemns(given)),
  };
}

/** Rows by label, then by the class given. */
export function confusion(judged: readonly Judged[]): Map<SmtpClass, Map<SmtpClass, number>> {
  const matrix = new Map<SmtpClass, Map<SmtpClass, number>>();
  for (const { row, given } of judged) {
    const counts = matrix.get(row.label) ?? new Map<SmtpClass, number>();
    counts.set(given, (counts.get(given) ?? 0) + 1);
    matrix.set(row.label, counts);
  }
  return matrix;
}
