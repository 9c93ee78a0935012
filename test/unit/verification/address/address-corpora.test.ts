import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { parseAddress } from "../../../../src/verification/address/address.ts";

/** The public corpora, and the one list of cases where we say otherwise: see test/fixtures/syntax/README.md. */
const FOLDER = new URL("../../../fixtures/syntax/", import.meta.url);

type Ruling = "accepts" | "refuses";

interface Case {
  corpus: string;
  /** As the fixture writes it: a JSON string. */
  text: string;
  address: string;
  theirs: Ruling;
  /** In their eyes; "" where the corpus does not say. */
  normalised: string;
}

function rowsOf(file: string, header: string): string[][] {
  const [first, ...lines] = readFileSync(new URL(file, FOLDER), "utf8").trimEnd().split("\n");
  assert.equal(first, header);
  return lines.map((line) => line.split("\t"));
}

/** `is_email()` is true below its threshold: `valid`, warnings of the DNS, and what RFC 5321 lets pass. */
function isemailRuling(diagnosis: string): Ruling {
  return diagnosis === "valid" || /^(dnsWarn|rfc5321)/.test(diagnosis) ? "accepts" : "refuses";
}

const CASES: Case[] = [
  ...rowsOf("isemail.tsv", "address\tdiagnosis").map(([text = "", diagnosis = ""]) => ({
    corpus: "isemail",
    text,
    address: JSON.parse(text) as string,
    theirs: isemailRuling(diagnosis),
    normalised: "",
  })),
  ...rowsOf("python-email-validator.tsv", "address\tverdict\tnormalised").map(
    ([text = "", verdict, normalised = ""]) => ({
      corpus: "python-email-validator",
      text,
      address: JSON.parse(text) as string,
      theirs: verdict as Ruling,
      normalised: normalised === "" ? "" : (JSON.parse(normalised) as string),
    }),
  ),
];

const key = (corpus: string, text: string) => `${corpus} ${text}`;

describe("the corpora of others", () => {
  const listed = new Map(
    rowsOf("disagreements.tsv", "corpus\taddress\ttheirs\tours\treason").map(
      ([corpus = "", text = "", theirs, ours, reason]) => [key(corpus, text), { theirs, ours, reason }],
    ),
  );

  it("are there as a whole", () => {
    assert.equal(CASES.filter(({ corpus }) => corpus === "isemail").length, 185);
    assert.equal(CASES.filter(({ corpus }) => corpus === "python-email-validator").length, 110);
    for (const { theirs } of CASES) assert.match(theirs, /^(accepts|refuses)$/);
  });

  it("every disagreement is listed with its reason, and nothing else is", () => {
    const found = new Map<string, { theirs: Ruling; ours: Ruling }>();
    for (const { corpus, text, address, theirs } of CASES) {
      const ours: Ruling = parseAddress(address).ok ? "accepts" : "refuses";
      if (ours !== theirs) found.set(key(corpus, text), { theirs, ours });
    }
    const unlisted = [...found].filter(([id]) => !listed.has(id));
    assert.deepEqual(unlisted, [], "disagreements that disagreements.tsv does not list");
    const settled = [...listed.keys()].filter((id) => !found.has(id));
    assert.deepEqual(settled, [], "listed, and no disagreement any more");
    for (const [id, { theirs, ours, reason }] of listed) {
      assert.deepEqual({ theirs, ours }, found.get(id), id);
      assert.ok((reason ?? "").length > 20, `${id}: no reason`);
    }
  });

  it("where they say what the address becomes, it is what we make of it", () => {
    let compared = 0;
    for (const { address, normalised } of CASES) {
      if (normalised === "") continue;
      const result = parseAddress(address);
      assert.ok(result.ok, address);
      assert.equal(result.address.normalised, normalised);
      compared++;
    }
    assert.equal(compared, 26);
  });

  it("what is accepted of them is its own normal form", () => {
    for (const { address } of CASES) {
      const result = parseAddress(address);
      if (!result.ok) continue;
      const again = parseAddress(result.address.normalised);
      assert.ok(again.ok, address);
      assert.deepEqual(again.address, result.address);
    }
  });
});
