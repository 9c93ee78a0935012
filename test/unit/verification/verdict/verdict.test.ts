import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { type ParsedAddress, parseAddress } from "../../../../src/verification/address/address.ts";
import {
  type CatchAll,
  type Evidence,
  evidenceBut,
  type SmtpClass,
  type SmtpEvidence,
} from "../../../../src/verification/evidence.ts";
import { SIGNAL_PENALTY } from "../../../../src/verification/verdict/reputation.ts";
import {
  type Reason,
  VERDICT_ROWS,
  type VerdictRow,
  type VerdictRowId,
} from "../../../../src/verification/verdict/table.ts";
import {
  type DecideInput,
  decide,
  evidenceLifetimeS,
  isUncharged,
} from "../../../../src/verification/verdict/verdict.ts";
import { evidenceWith, smtpWith } from "../../../support/evidence.ts";
import fc from "../../../support/properties.ts";

function address(text: string): ParsedAddress {
  const result = parseAddress(text);
  assert.ok(result.ok);
  return result.address;
}

const PLAIN = address("jane.doe@example.com");
/** Two signals that no honest address carries together. */
const DUBIOUS = address("x7k2m9q4w1z8@gmial.com");

function mx(status: Evidence["mx"]["status"], fault: Evidence["mx"]["fault"]): Evidence {
  return evidenceWith({ mx: { status, hosts: [], provider: null, ttlS: 60, fault } });
}

const CONDEMNED = new Set<SmtpClass>(["mailbox_not_found", "mailbox_disabled", "mailbox_full"]);

function smtp(smtpClass: SmtpClass, catchAll: CatchAll = "not_probed", change: Partial<SmtpEvidence> = {}) {
  return smtpWith({
    class: smtpClass,
    fault: smtpClass === "accepted" ? null : CONDEMNED.has(smtpClass) ? "recipient" : "their_server",
    code: smtpClass === "accepted" ? 250 : 550,
    catchAll,
    ...change,
  });
}

function input(change: Partial<DecideInput>): DecideInput {
  return {
    address: PLAIN,
    evidence: evidenceWith(),
    failure: null,
    probing: true,
    blocked: false,
    ...change,
  };
}

const probed = (smtpClass: SmtpClass, catchAll?: CatchAll) =>
  input({ evidence: evidenceWith({ smtp: smtp(smtpClass, catchAll) }) });

const accepted = smtp("accepted", "refused");
const disposable = { listed: true, source: "mailchecker" };

/** One case for each row of the table, in its order. */
const CASES: Record<VerdictRowId, DecideInput> = {
  empty: input({ address: null, malformed: "empty", evidence: null }),
  several_addresses: input({ address: null, malformed: "several_addresses", evidence: null }),
  invalid_format: input({ address: null, evidence: null }),
  blocklisted_domain: input({ blocked: true }),
  domain_not_found: input({ evidence: mx("domain_not_found", "recipient") }),
  no_mx: input({ evidence: mx("no_mx", "recipient") }),
  null_mx: input({ evidence: mx("null_mx", "recipient") }),
  mx_unresolvable: input({ evidence: mx("mx_unresolvable", "recipient") }),
  dns_error: input({ evidence: mx("dns_error", "their_server") }),
  disposable_domain: input({ evidence: evidenceWith({ disposable }) }),
  unprobed_role: input({ probing: false, evidence: evidenceWith({ role: "info" }) }),
  unprobed_low_reputation: input({ probing: false, address: DUBIOUS }),
  smtp_not_requested: input({ probing: false, declined: true }),
  smtp_not_in_tier: input({ probing: false }),
  mailbox_not_found: probed("mailbox_not_found"),
  mailbox_disabled: probed("mailbox_disabled"),
  mailbox_full: probed("mailbox_full"),
  refused_by_policy: probed("refused_by_policy"),
  sender_blocked: probed("sender_blocked"),
  greylisted: probed("greylisted"),
  rate_limited_by_server: probed("rate_limited_by_server"),
  smtp_protocol_error: probed("smtp_protocol_error"),
  no_connect: probed("no_connect"),
  timeout: probed("timeout"),
  our_network: probed("our_network"),
  provider_unverifiable: probed("provider_unverifiable"),
  catch_all: probed("accepted", "accepted"),
  catch_all_unconfirmed: probed("accepted", "inconclusive"),
  role_address: input({ evidence: evidenceWith({ role: "info", smtp: accepted }) }),
  low_reputation: input({ address: DUBIOUS, evidence: evidenceWith({ smtp: accepted }) }),
  accepted_mailbox: probed("accepted", "refused"),
  deadline: input({ evidence: null, failure: "deadline" }),
  internal_error: input({ evidence: null, failure: "internal_error" }),
};

describe("every row of the verdict table", () => {
  for (const [row, given] of Object.entries(CASES)) {
    it(row, () => {
      const decision = decide(given);
      const expected = VERDICT_ROWS[row as VerdictRowId];
      assert.equal(decision.row, row);
      assert.equal(decision.verdict, expected.verdict);
      assert.equal(decision.reason, expected.reason);
      assert.equal(decision.fault, expected.fault);
    });
  }
});

describe("verdicts that need no server's answer", () => {
  const failing = evidenceBut(mx("dns_error", "our_network"), {
    disposable: { listed: false, source: "none" },
  });
  const reasonOf = (given: DecideInput) => decide(given).reason;

  for (const probing of [true, false])
    it(`is said where the name servers fail, ${probing ? "with" : "without"} probing`, () => {
      const asked = (evidence: Evidence, who = PLAIN) => reasonOf(input({ probing, evidence, address: who }));
      assert.equal(asked(evidenceBut(failing, { disposable })), "disposable_domain");
      assert.equal(asked(evidenceBut(failing, { role: "info" })), "role_address");
      assert.equal(asked(failing, DUBIOUS), "low_reputation");
      assert.equal(asked(failing), "dns_error");
      for (const status of ["domain_not_found", "no_mx", "null_mx", "mx_unresolvable"] as const)
        assert.equal(asked(evidenceBut(mx(status, "recipient"), { disposable, role: "info" })), status);
    });

  it("is said at a deadline too, when not even a name server has answered", () => {
    const unasked = evidenceBut(mx("skipped", null), { disposable: { listed: false, source: "none" } });
    const asked = (evidence: Evidence, probing: boolean) =>
      reasonOf(input({ evidence, probing, failure: "deadline" }));
    assert.equal(asked(evidenceBut(unasked, { disposable }), true), "disposable_domain");
    assert.equal(
      asked(evidenceBut(unasked, { role: "info" }), true),
      "deadline",
      "its server may yet refuse it",
    );
    assert.equal(asked(evidenceBut(unasked, { role: "info" }), false), "role_address");
    assert.equal(asked(unasked, false), "deadline");
    assert.equal(asked(evidenceWith({ role: "info" }), true), "deadline");
  });

  it("does not take a 252 as proof of a mailbox, whatever the catch-all probe's reply", () => {
    for (const catchAll of ["refused", "inconclusive", "not_probed"] as const) {
      const evidence = evidenceWith({ smtp: { ...accepted, code: 252, catchAll } });
      assert.equal(reasonOf(input({ evidence })), "catch_all_unconfirmed");
    }
    const evidence = evidenceWith({ smtp: { ...accepted, code: 252, catchAll: "accepted" } });
    assert.equal(reasonOf(input({ evidence })), "catch_all");
  });
});

describe("the page that readers see", () => {
  const page = readFileSync(new URL("../../../../docs/verdicts.md", import.meta.url), "utf8");
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, "$1"));
  const rows = page.split("\n").filter((line) => /^\| `/.test(line));
  const verdictRows = rows.map(cells).filter((row) => row.length === 7);
  const signalRows = rows.map(cells).filter((row) => row.length === 3);

  function kept(row: VerdictRow): string {
    const { keptS } = row;
    if (keptS === 0) return "–";
    const text = keptS >= 3600 ? `${keptS / 3600} h` : keptS >= 60 ? `${keptS / 60} min` : `${keptS} s`;
    return row.dnsTtlBound ? `${text}, at most the DNS TTL` : text;
  }

  it("says what the code does, row by row, in the same order", () => {
    const said = verdictRows.map(([id, , ...rest]) => [id, ...rest]);
    const done = Object.entries(VERDICT_ROWS).map(([id, row]: [string, VerdictRow]) => [
      id,
      row.verdict,
      row.reason,
      row.fault?.replace("_", " ") ?? "–",
      kept(row),
      row.givenBack ? "no" : "yes",
    ]);
    assert.deepEqual(said, done);
  });

  it("lists every signal with its penalty", () => {
    const said = signalRows.map(([signal, penalty]) => [signal, Number(penalty)]);
    assert.deepEqual(said, Object.entries(SIGNAL_PENALTY));
  });
});

describe("which row comes first", () => {
  const row = (change: Partial<DecideInput>) => decide(input(change)).row;

  it("bad format before everything, a blocked domain before all evidence", () => {
    assert.equal(row({ address: null, blocked: true, failure: "deadline" }), "invalid_format");
    assert.equal(row({ blocked: true, evidence: mx("null_mx", "recipient") }), "blocklisted_domain");
    assert.equal(row({ blocked: true, evidence: null, failure: "internal_error" }), "blocklisted_domain");
  });

  it("the DNS before the lists, the lists before the tier", () => {
    const dead = evidenceBut(mx("domain_not_found", "recipient"), { disposable });
    assert.equal(row({ evidence: dead }), "domain_not_found");
    assert.equal(
      row({ probing: false, evidence: evidenceWith({ disposable, role: "info" }) }),
      "disposable_domain",
    );
  });

  it("a tier without probing does not see what another tier's probe found", () => {
    for (const found of [accepted, smtp("mailbox_not_found"), smtp("accepted", "accepted")])
      assert.equal(row({ probing: false, evidence: evidenceWith({ smtp: found }) }), "smtp_not_in_tier");
  });

  it("no refusal means `invalid` while our sender identity is not in order", () => {
    for (const found of ["mailbox_not_found", "mailbox_disabled"] as const) {
      const untrusted = smtp(found, "not_probed", { trusted: false });
      assert.equal(row({ evidence: evidenceWith({ smtp: untrusted }) }), "sender_blocked");
    }
    const full = smtp("mailbox_full", "not_probed", { trusted: false });
    assert.equal(row({ evidence: evidenceWith({ smtp: full }) }), "mailbox_full");
  });

  it("catch-all before role, role before reputation", () => {
    const catchAll = smtp("accepted", "accepted");
    assert.equal(row({ evidence: evidenceWith({ smtp: catchAll, role: "info" }) }), "catch_all");
    assert.equal(
      row({ address: DUBIOUS, evidence: evidenceWith({ smtp: accepted, role: "info" }) }),
      "role_address",
    );
  });

  it("a random address that was never asked proves nothing", () => {
    assert.equal(
      row({ evidence: evidenceWith({ smtp: smtp("accepted", "not_probed") }) }),
      "catch_all_unconfirmed",
    );
  });

  it("an implicit MX is an MX", () => {
    const implicit = mx("implicit", null).mx;
    assert.equal(row({ evidence: evidenceWith({ mx: implicit, smtp: accepted }) }), "accepted_mailbox");
  });

  it("an `invalid` class without the recipient's fault, or before RCPT, makes no address invalid", () => {
    for (const change of [{ fault: "our_address" }, { fault: null }, { stage: "mail" }] as const) {
      const found = smtp("mailbox_not_found", "not_probed", change);
      assert.equal(row({ evidence: evidenceWith({ smtp: found }) }), "refused_by_policy");
    }
  });

  it("a check that did not end: by its failure, and by our bug where none is given", () => {
    assert.equal(row({ failure: "deadline" }), "deadline");
    assert.equal(row({ evidence: mx("skipped", null), failure: "deadline" }), "deadline");
    assert.equal(row({}), "internal_error");
  });
});

describe("whose fault", () => {
  it("the evidence knows better, where something broke on the way", () => {
    assert.equal(decide(input({ evidence: mx("dns_error", "our_network") })).fault, "our_network");
    const silence = smtp("timeout", "not_probed", { fault: "our_network" });
    assert.equal(decide(input({ evidence: evidenceWith({ smtp: silence }) })).fault, "our_network");
  });
});

describe("quota and cache", () => {
  it("gives back what API users do not pay for, and only that", () => {
    const free = Object.values(VERDICT_ROWS)
      .map(({ reason }) => reason)
      .filter((reason) => isUncharged(reason));
    assert.deepEqual(free.sort(), [
      "deadline",
      "dns_error",
      "greylisted",
      "internal_error",
      "no_connect",
      "our_network",
      "rate_limited_by_server",
      "sender_blocked",
      "smtp_protocol_error",
      "timeout",
    ]);
  });

  it("keeps DNS verdicts no longer than the DNS allows, and others by their row", () => {
    assert.equal(evidenceLifetimeS({ row: "null_mx" }, 60), 60);
    assert.equal(evidenceLifetimeS({ row: "null_mx" }, 86_400), 3_600);
    assert.equal(evidenceLifetimeS({ row: "accepted_mailbox" }, 60), 86_400);
    assert.equal(evidenceLifetimeS({ row: "our_network" }, 60), 30);
    assert.equal(evidenceLifetimeS({ row: "deadline" }, 60), 0);
    assert.equal(evidenceLifetimeS({ row: "unprobed_role" }, 60), 0);
    assert.equal(evidenceLifetimeS({ row: "role_address" }, 60), 86_400);
  });

  it("takes the operator's lifetimes, but keeps nothing that must not be kept", () => {
    const overrides: Partial<Record<Reason, number>> = { accepted_mailbox: 7, null_mx: 7_200, deadline: 5 };
    assert.equal(evidenceLifetimeS({ row: "accepted_mailbox" }, 60, overrides), 7);
    assert.equal(evidenceLifetimeS({ row: "null_mx" }, 60, overrides), 60);
    assert.equal(evidenceLifetimeS({ row: "deadline" }, 60, overrides), 0);
  });
});

describe("whatever the evidence", () => {
  const classes = Object.keys(VERDICT_ROWS).filter(
    (id) => CASES[id as VerdictRowId].evidence?.smtp?.class === id,
  ) as SmtpClass[];
  const anySmtp = fc.record({
    class: fc.oneof(fc.constant<SmtpClass>("accepted"), fc.constantFrom(...classes)),
    fault: fc.constantFrom("recipient", "recipient", "their_server", "our_address", "our_network", null),
    stage: fc.constantFrom("connect", "greeting", "mail", "rcpt", "rcpt", "rcpt"),
    catchAll: fc.constantFrom<CatchAll>("accepted", "refused", "inconclusive", "put_off", "not_probed"),
  });
  const anyInput = fc.record({
    malformed: fc.constantFrom("empty", "several_addresses", "invalid_format", null),
    address: fc.constantFrom(null, PLAIN, DUBIOUS, address("info@example.tk"), address("12345@qq.com")),
    evidence: fc.option(
      fc.record({
        v: fc.constant(1 as const),
        mx: fc.record({
          status: fc.constantFrom(
            "ok",
            "ok",
            "implicit",
            "no_mx",
            "null_mx",
            "mx_unresolvable",
            "domain_not_found",
            "dns_error",
            "skipped",
          ),
          hosts: fc.constant([]),
          provider: fc.constant(null),
          ttlS: fc.nat(),
          fault: fc.constantFrom("recipient", "their_server", "our_network", null),
        }),
        disposable: fc.constantFrom(
          disposable,
          { listed: false, source: "none" },
          { listed: false, source: "none" },
        ),
        role: fc.constantFrom(null, "info"),
        freeProvider: fc.boolean(),
        smtp: fc.option(anySmtp.map((change) => ({ ...smtp("accepted"), ...change }))),
      }),
    ),
    failure: fc.constantFrom(null, "deadline", "internal_error"),
    probing: fc.boolean(),
    declined: fc.boolean(),
    blocked: fc.constantFrom(false, false, false, true),
  }) as fc.Arbitrary<DecideInput>;

  it("the promises hold", () => {
    const seen = new Set<VerdictRowId>();
    fc.assert(
      fc.property(anyInput, (given) => {
        const { row, verdict, reason, fault, riskScore, reputation } = decide(given);
        seen.add(row);
        if (!given.probing) assert.notEqual(verdict, "valid");
        if (verdict === "valid") assert.equal(given.evidence?.smtp?.class, "accepted");
        if (verdict === "invalid") assert.equal(fault, "recipient");
        if (isUncharged(reason)) assert.equal(verdict, "unknown");
        if (reason === "blocklisted_domain") assert.equal(riskScore, 79);
        assert.ok(Number.isInteger(riskScore));
        const [min, max] = { valid: [0, 30], risky: [31, 79], unknown: [31, 79], invalid: [80, 100] }[
          verdict
        ];
        assert.ok(riskScore >= Number(min) && riskScore <= Number(max), `${verdict} ${riskScore}`);
        assert.ok(reputation.score >= 0 && reputation.score <= 100);
        assert.equal(new Set(reputation.signals).size, reputation.signals.length);
        assert.deepEqual(decide(given), decide(structuredClone(given)));
      }),
      { numRuns: 20_000, seed: 79 },
    );
    assert.deepEqual([...seen].sort(), Object.keys(VERDICT_ROWS).sort());
  });

  it("what probing taught does not show where the tier does not probe", () => {
    fc.assert(
      fc.property(anyInput, (given) => {
        const without = given.evidence === null ? null : evidenceBut(given.evidence, { smtp: null });
        const lower = { ...given, probing: false };
        assert.deepEqual(decide(lower), decide({ ...lower, evidence: without }));
      }),
      { numRuns: 2_000, seed: 80 },
    );
  });
});
