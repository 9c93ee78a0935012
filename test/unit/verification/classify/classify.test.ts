import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import type { FailureCause, RcptOutcome, Stage } from "../../../../src/smtp/wire/outcome.ts";
import {
  type Classification,
  classify,
  redactReply,
} from "../../../../src/verification/classify/classify.ts";
import type { ReplyStage } from "../../../../src/verification/classify/matchable-reply.ts";
import { FAULT_OF } from "../../../../src/verification/classify/rule.ts";
import { RULES } from "../../../../src/verification/classify/rules/rules.ts";
import { PROVIDER_MX_SUFFIXES } from "../../../../src/verification/lists/providers.ts";
import { OPENED, parsedReply as parsed, readCorpus, SELF } from "../../../corpus/labelled.ts";
import fc from "../../../support/properties.ts";

const CORPUS = readCorpus("development") ?? [];
const AT = { host: "mx.example.com", address: "198.51.100.25", path: "direct", tls: true, latencyMs: 1 };
const CONDEMNING = new Set(["mailbox_not_found", "mailbox_disabled"]);

function ruling(
  lines: readonly string[],
  stage: ReplyStage = "rcpt",
  provider: string | null = null,
): Classification {
  return classify({ kind: "reply", stage, reply: parsed(lines), ...AT }, { provider, self: SELF });
}

describe("classify: the labelled corpus", () => {
  for (const { stage, provider, label, lines } of CORPUS) {
    it(`${stage} ${provider ?? ""} ${lines.join(" / ").slice(0, 90)}`, () => {
      const found = ruling(lines, stage, provider);
      assert.equal(found.class, label, `rule ${found.rule}`);
      assert.equal(found.fault, FAULT_OF[label]);
    });
  }

  it("is large enough to say something, and finds no recipient guilty of another's fault", () => {
    assert.ok(CORPUS.length >= 700, `${CORPUS.length} replies`);
    const innocent = CORPUS.filter(({ label }) => FAULT_OF[label] !== "recipient");
    assert.ok(innocent.length >= 350);
    const condemned = innocent.filter(({ lines, stage, provider }) =>
      CONDEMNING.has(ruling(lines, stage, provider).class),
    );
    assert.deepEqual(condemned, []);
  });

  it("needs no provider to keep innocent recipients safe", () => {
    const condemned = CORPUS.filter(
      ({ label, lines, stage }) =>
        FAULT_OF[label] !== "recipient" && CONDEMNING.has(ruling(lines, stage, null).class),
    );
    assert.deepEqual(condemned, []);
  });

  it("is not misled by a code that speaks of the recipient where the words speak of something else", () => {
    const speaking = CORPUS.filter(
      ({ stage, label, lines }) =>
        stage === "rcpt" &&
        FAULT_OF[label] !== "recipient" &&
        /^5.. .*\b(?:domain|message|host|server)\b/.test(lines[0] ?? ""),
    );
    assert.ok(speaking.length >= 80);
    const condemned = speaking
      .map(({ lines }) => [`${lines[0]?.slice(0, 4)}5.1.1 ${lines[0]?.slice(4).replace(/^[#\d.]+ /, "")}`])
      .filter((lines) => CONDEMNING.has(ruling(lines).class));
    assert.deepEqual(condemned, []);
  });

  it("is misled by no code where the words are about something else, in sentences made for that", () => {
    const file = new URL("../../../corpus/innocent.txt", import.meta.url);
    const innocent = readFileSync(file, "utf8")
      .split("\n")
      .filter((row) => row !== "" && !row.startsWith("#"));
    assert.ok(innocent.length >= 300);
    const condemned = innocent
      .map((row) => row.replace(/^5\d\d (?:5\.\d+\.\d+ )?/, ""))
      .flatMap((words) =>
        [
          ...["550", "550 5.1.1", "550 5.2.1", "550 5.7.1", "553", "554 5.1.1", "550 5.1.0", "550 5.1.10"],
          ...["504", "530", "552 5.2.2"],
        ].map((code) => `${code} ${words}`),
      )
      .filter((line) => CONDEMNING.has(ruling([line]).class));
    assert.deepEqual(condemned, []);
  });

  it("blames no recipient for another's fault in the opened corpora either", () => {
    const innocent = OPENED.flatMap((name) => readCorpus(name) ?? []).filter(
      ({ label }) => FAULT_OF[label] !== "recipient",
    );
    assert.ok(innocent.length >= 550);
    const condemned = innocent.filter(({ lines, stage, provider }) =>
      CONDEMNING.has(ruling(lines, stage, provider).class),
    );
    assert.deepEqual(condemned, []);
  });

  it("never blames the recipient before RCPT, whatever is said there", () => {
    for (const { lines } of CORPUS)
      for (const stage of ["greeting", "ehlo", "starttls", "mail"] as const) {
        const found = ruling(lines, stage);
        assert.ok(!CONDEMNING.has(found.class), `${stage}: ${lines.join(" / ")} by ${found.rule}`);
      }
  });
});

describe("classify: what is about us comes first", () => {
  const unknown = "550 User unknown";

  it("our address and our name, by themselves and not inside others", () => {
    assert.equal(ruling([`${unknown} [192.0.2.1]`]).class, "sender_blocked");
    assert.equal(ruling([`${unknown} (2001:DB8::1)`]).class, "sender_blocked");
    assert.equal(ruling([`${unknown} to Probe.Rcpt.Example.`]).class, "sender_blocked");
    assert.equal(ruling([`${unknown} [192.0.2.10]`]).class, "mailbox_not_found");
    assert.equal(ruling([`${unknown} [1192.0.2.1]`]).class, "mailbox_not_found");
    assert.equal(ruling([`${unknown} at xprobe.rcpt.example`]).class, "mailbox_not_found");
  });

  it("not where we are only hailed, or named in a link to look things up", () => {
    assert.equal(ruling(["550 Hi [192.0.2.1], no such user"]).class, "mailbox_not_found");
    assert.equal(
      ruling(["550 No such user, see https://x.example/?ip=192.0.2.1"]).class,
      "mailbox_not_found",
    );
    assert.equal(ruling(["550 See https://x.example/?ip=192.0.2.1"]).class, "sender_blocked");
    assert.equal(ruling(["550 Hi [192.0.2.1], you look dangerous"]).class, "sender_blocked");
    assert.equal(
      ruling(["550 192.0.2.1: no such user, see https://x.example/?ip=192.0.2.1"]).class,
      "sender_blocked",
    );
    assert.equal(ruling(["550 5.1.1 RUSR 192.0.2.1: No such user"]).class, "mailbox_not_found");
    assert.equal(ruling(["550 5.1.1 blocked 192.0.2.1: No such user"]).class, "sender_blocked");
  });

  it("a mailbox whose name looks like a reason is still a mailbox", () => {
    assert.equal(ruling(["550 5.1.1 <spamhaus@example.com>: User unknown"]).class, "mailbox_not_found");
    assert.equal(ruling(["550 <relay.blacklist@rbl.example.com> no such user"]).class, "mailbox_not_found");
  });

  it("what is said of the sender we gave is not said of the recipient", () => {
    const judge = (line: string) => {
      const outcome = { kind: "reply", stage: "rcpt", reply: parsed([line]), ...AT } as RcptOutcome;
      return classify(outcome, { provider: null, self: { ...SELF, mailFrom: "Verify@Bounce.Example" } });
    };
    assert.equal(judge("550 5.1.1 <verify@bounce.example>: User unknown").fault, "our_address");
    assert.equal(judge("550 5.1.1 <user@bounce.example>: User unknown").class, "mailbox_not_found");
  });

  it("a HELO name of one label is too common a word to look for", () => {
    const outcome = {
      kind: "reply",
      stage: "rcpt",
      reply: parsed(["550 5.1.1 user unknown at mail"]),
      ...AT,
    } as const;
    const found = classify(outcome, { provider: null, self: { heloName: "mail", addresses: [] } });
    assert.equal(found.class, "mailbox_not_found");
  });
});

describe("classify: endings without a reply", () => {
  const cases: [Stage, FailureCause, string, string][] = [
    ["connect", "timeout", "timeout", "their_server"],
    ["rcpt", "timeout", "timeout", "their_server"],
    ["connect", "refused", "no_connect", "their_server"],
    ["connect", "unreachable", "no_connect", "their_server"],
    ["connect", "closed", "no_connect", "their_server"],
    ["connect", "private_address", "no_connect", "their_server"],
    ["dns", "no_address", "no_connect", "their_server"],
    ["greeting", "closed", "smtp_protocol_error", "their_server"],
    ["rcpt", "closed", "smtp_protocol_error", "their_server"],
    ["ehlo", "protocol", "smtp_protocol_error", "their_server"],
    ["greeting", "reply_too_long", "smtp_protocol_error", "their_server"],
    ["starttls", "tls", "smtp_protocol_error", "their_server"],
    ["mail", "smtputf8_missing", "refused_by_policy", "their_server"],
    ["connect", "no_slot", "timeout", "our_network"],
    ["connect", "cancelled", "timeout", "our_network"],
  ];
  for (const [stage, cause, smtpClass, fault] of cases) {
    it(`${cause} at ${stage}`, () => {
      const outcome = { kind: "failure", stage, cause, detail: "", ...AT } as const;
      const found = classify(outcome, { provider: null, self: SELF });
      assert.deepEqual(found, { class: smtpClass, fault, rule: `failure.${cause}` });
    });
  }
});

describe("the rules", () => {
  it("and the corpus speak of providers that sites roll up to", () => {
    const named = [
      ...RULES.flatMap(({ providers }) => providers ?? []),
      ...CORPUS.map(({ provider }) => provider),
    ];
    for (const provider of named)
      assert.ok(provider === null || provider in PROVIDER_MX_SUFFIXES, `${provider}`);
  });

  it("have ids of their own", () => {
    assert.equal(new Set(RULES.map(({ id }) => id)).size, RULES.length);
  });

  for (const rule of RULES) {
    it(`${rule.id} decides its own example`, () => {
      const stage = rule.stages?.[0] ?? "rcpt";
      const found = ruling(rule.example.split(" | "), stage, rule.providers?.[0] ?? null);
      assert.equal(found.rule, rule.id);
    });
    it(`${rule.id} is written in what it is matched against`, () => {
      for (const fragment of [...(rule.text ?? []), ...(rule.unless ?? [])]) {
        assert.match(fragment, /^[\x20-\x7e]{3,}$/);
        assert.equal(fragment, fragment.toLowerCase());
      }
    });
  }
});

describe("hostile replies", () => {
  const words = fc.constantFrom(
    ...[
      "user unknown",
      "no such",
      "mailbox",
      "is",
      "disabled",
      "full",
      "sender",
      "domain",
      "relay",
      "550",
      "5.1.1",
    ],
    ...[
      "<user@example.com>",
      "192.0.2.1",
      "не найден",
      "用户不存在",
      "\xc3\xa4",
      "'",
      ". ",
      ", ",
      "http://x.example/",
    ],
  );
  const line = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc
      .array(fc.oneof(words, fc.string({ unit: "binary", maxLength: 4 })), { maxLength: 40 })
      .map((said) => said.join(" ")),
  );
  const reply = fc.record({
    code: fc.integer({ min: 200, max: 599 }),
    enhanced: fc.constantFrom(null, "5.1.1", "4.2.2", "5.7.1", "2.1.5"),
    lines: fc.array(line, { maxLength: 20 }),
  });

  it("a bare or unknown refusal makes no address invalid", () => {
    for (let code = 400; code < 600; code++)
      assert.ok(!CONDEMNING.has(ruling([String(code)]).class), String(code));
  });

  it("mean `invalid` only for a permanent refusal of the recipient, and the same each time", () => {
    const stages = fc.constantFrom<ReplyStage>("greeting", "ehlo", "starttls", "mail", "rcpt");
    const providers = fc.constantFrom(null, ...Object.keys(PROVIDER_MX_SUFFIXES));
    fc.assert(
      fc.property(reply, stages, providers, (r, stage, provider) => {
        const judge = () =>
          classify({ kind: "reply", stage, reply: r, ...AT } as RcptOutcome, { provider, self: SELF });
        const found = judge();
        assert.deepEqual(judge(), found);
        if (!CONDEMNING.has(found.class)) return;
        assert.equal(Math.floor(r.code / 100), 5);
        assert.equal(stage, "rcpt");
        assert.equal(found.fault, "recipient");
      }),
      { numRuns: 1_000, seed: 3463 },
    );
  });

  it("are kept short, on one line, without controls and without addresses", () => {
    fc.assert(
      fc.property(reply, (r) => {
        const kept = redactReply(r, "jane.doe", SELF);
        assert.ok(kept.length <= LIMITS.check.replyTextChars);
        assert.doesNotMatch(kept, /\p{Cc}/u);
        assert.doesNotMatch(kept, /[a-z0-9]@[a-z0-9]/i);
      }),
      { numRuns: 500, seed: 5321 },
    );
    const kept = redactReply(
      parsed(["550-5.1.1 <jane.doe+x@example.com>: no", "550 ask postmaster@example.com"]),
      "jane.doe+x",
      SELF,
    );
    assert.equal(kept, "550 5.1.1 <*@*>: no ask *@*");
  });

  it("quote no quoted local part either", () => {
    const kept = redactReply(
      parsed(['550 5.1.1 <"jane doe"@example.com>: unknown, <jane@example.com>:blocked']),
      '"jane doe"',
      SELF,
    );
    assert.equal(kept, "550 5.1.1 <*@*>: unknown, <*@*>:blocked");
  });

  it("name the mailbox asked for nowhere, in whatever form", () => {
    const kept = (line: string, local: string) =>
      redactReply({ code: 550, enhanced: null, lines: [Buffer.from(line).toString("latin1")] }, local, SELF);
    const cases: [line: string, local: string, text: string][] = [
      ["User john.doe unknown", "john.doe", "User * unknown"],
      ["User John.Doe unknown", "john.doe", "User * unknown"],
      ["no user JOHN.DOE, sorry: john.doe.", "john.doe", "no user *, sorry: *."],
      [
        "/home/john.doe/Maildir of CORP\\john.doe (john.doe%example.com)",
        "john.doe",
        "/home/*/Maildir of CORP\\* (*%example.com)",
      ],
      ['unknown user: "john.doe"', "john.doe", 'unknown user: "*"'],
      ["user=john.doe,ou=People", "john.doe", "user=*,ou=People"],
      ["User john.doe unknown", "john.doe+news", "User * unknown"],
      ["User john.doe+news unknown", "john.doe+news", "User * unknown"],
      ["User jane doe unknown", '"jane doe"', "User * unknown"],
      ['User o"neil unknown', '"o\\"neil"', "User * unknown"],
      ["User jürgen unknown", "jürgen", "User * unknown"],
      ["User a.c-x$ and abc-x$", "a.c-x$", "User * and abc-x$"],
      ["johnson has no mailbox, john does", "john", "johnson has no mailbox, * does"],
      ["User unknown", "user", "User unknown"],
      ["Mailbox postmaster: User unknown", "postmaster", "Mailbox postmaster: User unknown"],
      ["no such user al", "al", "no such user al"],
      ["no such user", "+", "no such user"],
    ];
    for (const [line, local, text] of cases)
      assert.equal(kept(line, local), `550 ${text}`, `${local}: ${line}`);
  });

  it("name no mailbox that was asked for, whatever its name and what surrounds it", () => {
    const local = fc.stringMatching(/^[a-z0-9][a-z0-9.!#$%&'*+/=?^_`{|}~-]{4,20}[a-z0-9]$/);
    const around = fc.constantFrom(" ", "<", ">", "'", ":", "/", "(", ")", "\\", "=", ";", ".");
    fc.assert(
      fc.property(local, around, around, (name, before, after) => {
        const lines = [`no${before}${name.toUpperCase()}${after} x ${name}`];
        const kept = redactReply({ code: 550, enhanced: null, lines }, name, SELF);
        assert.ok(!kept.toLowerCase().includes(name), kept);
      }),
      { numRuns: 500, seed: 5322 },
    );
  });

  it("are kept without addresses whose at sign is written otherwise", () => {
    const kept = (line: string) =>
      redactReply({ code: 550, enhanced: null, lines: [Buffer.from(line).toString("latin1")] }, "jane", SELF);
    for (const address of [
      "joe.b%40corp.example",
      "joe.b\uff20corp.example",
      "joe.b (at) corp.example",
      "joe.b[AT]corp.example",
    ]) {
      const said = kept(`See https://help.example/why?a=1 for ${address}: no such user`);
      assert.doesNotMatch(said, /joe|corp/i, said);
      assert.match(said, /^550 see https:\/\/help\.example\/why\?a=1 for \*.*\*: no such user$/i);
    }
    assert.match(
      kept("https://help.example/?rcpt=joe.b%40corp.example&x=1"),
      /help\.example\/\?rcpt=\*%40\*&x=1$/,
    );
  });

  it("are kept as their server meant them, in UTF-8 or Latin-1", () => {
    const read = (bytes: Buffer) => ({ code: 550, enhanced: null, lines: [bytes.toString("latin1")] });
    assert.equal(
      redactReply(read(Buffer.from("Empfänger unbekannt")), "jane", SELF),
      "550 Empfänger unbekannt",
    );
    assert.equal(redactReply(read(Buffer.from("boîte fermée", "latin1")), "jane", SELF), "550 boîte fermée");
  });

  it("of a megabyte are judged by their beginning alone", () => {
    const judge = (line: string) => {
      const reply = { code: 550, enhanced: null, lines: [line] };
      return classify({ kind: "reply", stage: "rcpt", reply, ...AT }, { provider: null, self: SELF });
    };
    const filler = "a ".repeat(LIMITS.check.replyMatchedChars);
    assert.equal(judge("user unknown").class, "mailbox_not_found");
    assert.deepEqual(judge(`${filler}user unknown`), judge(filler));
    assert.deepEqual(judge(`user unknown ${filler.repeat(100)}`), judge("user unknown"));
  });
});
