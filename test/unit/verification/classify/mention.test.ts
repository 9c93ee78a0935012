import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptOutcome } from "../../../../src/smtp/wire/outcome.ts";
import { type Classification, classify } from "../../../../src/verification/classify/classify.ts";
import { parsedReply, readCorpus, SELF } from "../../../corpus/labelled.ts";
import fc from "../../../support/properties.ts";

const CORPUS = readCorpus("development") ?? [];
const AT = { host: "mx.example.com", address: "198.51.100.25", path: "direct", tls: true, latencyMs: 1 };
const CONDEMNING = new Set(["mailbox_not_found", "mailbox_disabled"]);

function ruling(lines: readonly string[], stage: "rcpt", provider: string | null): Classification {
  const outcome: RcptOutcome = { kind: "reply", stage, reply: parsedReply(lines), ...AT } as RcptOutcome;
  return classify(outcome, { provider, self: SELF });
}

describe("a mention of us or of a list", () => {
  const MENTIONS = [
    " [192.0.2.1]",
    " (from probe.rcpt.example [192.0.2.1])",
    " from 2001:db8::1",
    " https://x.example/why?ip=192.0.2.1",
    " listed in zen.spamhaus.org",
    " blocked using dnsbl.example.net",
    " Hi [192.0.2.1], ",
    " probe.rcpt.example",
    " client 192.0.2.1",
    " RUSR 192.0.2.1: ",
  ];

  it("never makes a reply mean `invalid` that does not without it, wherever it is", () => {
    const row = fc.constantFrom(...CORPUS.filter(({ stage }) => stage === "rcpt"));
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(row, fc.constantFrom(...MENTIONS), place, ({ lines, provider }, mention, share) => {
        if (CONDEMNING.has(ruling(lines, "rcpt", provider).class)) return;
        const words = (lines[0] ?? "").slice(4).split(" ");
        const at = Math.round(share * words.length);
        const said = [...words.slice(0, at), mention.trim(), ...words.slice(at)].join(" ");
        const named = [`${lines[0]?.slice(0, 4)}${said}`, ...lines.slice(1)];
        const found = ruling(named, "rcpt", provider);
        assert.ok(!CONDEMNING.has(found.class), `${named.join(" / ")}: ${found.rule}`);
      }),
      { numRuns: 5_000 },
    );
  });

  it("at its end or beginning never makes any reply of the corpora mean `invalid`", () => {
    const innocent = CORPUS.filter(
      ({ stage, lines, provider }) =>
        stage === "rcpt" && !CONDEMNING.has(ruling(lines, "rcpt", provider).class),
    );
    for (const { lines, provider } of innocent)
      for (const mention of MENTIONS) {
        const [first = "", ...rest] = lines;
        for (const named of [
          [...lines.slice(0, -1), `${lines.at(-1)}${mention}`],
          [`${first.slice(0, 4)}${mention.trim()} ${first.slice(4)}`, ...rest],
        ]) {
          const found = ruling(named, "rcpt", provider);
          assert.ok(!CONDEMNING.has(found.class), `${named.join(" / ")}: ${found.rule}`);
        }
      }
  });
});
