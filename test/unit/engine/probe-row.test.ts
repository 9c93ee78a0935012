import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import type { CheckMode } from "../../../src/verification/evidence.ts";
import { engine, failed, OK, replied, UNKNOWN } from "../../support/check-engine.ts";
import fc from "../../support/properties.ts";

const BLOCKED = replied(554, "5.7.1", "Client host [192.0.2.9] blocked using zen.spamhaus.org");

/** The server's outcome, by the first word of the local part. */
const DOES: Record<string, RcptOutcome> = {
  exists: OK,
  missing: UNKNOWN,
  full: replied(452, "4.2.2", "Mailbox full"),
  disabled: replied(550, "5.2.1", "Mailbox disabled"),
  grey: replied(450, "4.2.0", "Greylisted, try again in 300 seconds"),
  policy: replied(550, "5.7.1", "Message rejected by local policy"),
  slow: replied(451, "4.7.1", "Too many recipients, slow down"),
  greeting: { ...replied(554, null, "No service for you"), stage: "greeting" } as RcptOutcome,
  mail: { ...replied(550, "5.1.8", "Sender unknown"), stage: "mail" } as RcptOutcome,
  refused: failed("connect", "refused"),
  timeout: failed("connect", "timeout"),
  silent: failed("rcpt", "timeout"),
  noslot: failed("connect", "no_slot"),
  cancelled: failed("connect", "cancelled"),
  blocked: BLOCKED,
  proxy: failed("connect", "proxy"),
  protocol: failed("rcpt", "protocol"),
};

interface ProbeCase {
  /** `isBare`: the local part is a word that also occurs in some servers' replies. */
  rows: { kind: string; mode: CheckMode; isBare: boolean }[];
  /** Outcome at a backup host. */
  backup: string;
  stranger: string;
}

/** The evidence of each row, the destinations asked, and the reports to breakers, network and counters. */
async function report({ rows, backup, stranger }: ProbeCase, general: boolean): Promise<unknown> {
  const reply = (address: string, host: string) => {
    const kind = host === "mx2.example.test" ? backup : (/^[a-z]+/.exec(address)?.[0] ?? "");
    return DOES[kind] ?? DOES[stranger] ?? OK;
  };
  const { ask, asked, seen, probes, sites } = engine(reply, () => {}, { general });
  const found = [];
  for (const [i, { kind, mode, isBare }] of rows.entries())
    found.push(await ask(isBare ? kind : `${kind}.${i}`, mode));
  const { failed: silent, reached } = seen;
  return { found, asked, silent, reached, probes, sites: new Set(sites) };
}

const mode = fc.constantFrom<CheckMode>("single", "bulk", "patient");
const kind = fc.constantFrom("exists", "exists", "missing", ...Object.keys(DOES));

describe("the fast probe", () => {
  it("has the result of the full probe", async () => {
    const cases = fc.record<ProbeCase>({
      rows: fc.array(fc.record({ kind, mode, isBare: fc.boolean() }), { minLength: 1, maxLength: 8 }),
      backup: kind,
      stranger: fc.constantFrom("exists", "missing", "grey", "refused", "noslot", "policy"),
    });
    await fc.assert(
      fc.asyncProperty(cases, async (story) => {
        assert.deepEqual(await report(story, false), await report(story, true));
      }),
      { numRuns: 200 },
    );
  });

  it("is abandoned where a server blocks us, and the breaker is notified", async () => {
    const { check, asked } = engine(() => BLOCKED);
    for (let i = 0; i < 6; i++) await check(`a${i}`);
    assert.equal(asked.length, 5);
  });

  it("leaves the queue of its site, however it ends", async () => {
    const { ask } = engine((address) => DOES[/^[a-z]+/.exec(address)?.[0] ?? ""] ?? UNKNOWN);
    for (let round = 0; round < 30; round++) {
      await Promise.all(Object.keys(DOES).map((each) => ask(`${each}.${round}`, "patient")));
      assert.notEqual(await ask(`exists.${round}`, "bulk"), "busy");
    }
  });
});
