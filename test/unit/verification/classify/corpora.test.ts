import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { FAULT_OF } from "../../../../src/verification/classify/rule.ts";
import { RULES } from "../../../../src/verification/classify/rules/rules.ts";
import {
  BLIND,
  type CorpusName,
  HALVES,
  type Labelled,
  OPENED,
  parseCorpus,
  readCorpus,
} from "../../../corpus/labelled.ts";

function rowsOf(name: CorpusName): Labelled[] {
  const rows = readCorpus(name);
  assert.ok(rows !== null, `${name} is not there`);
  return rows;
}

/** Lines of rows that an earlier row repeats; numbers only, since readers of this must not see blind replies. */
function repeated(rows: readonly Labelled[]): number[] {
  const seen = new Set<string>();
  return rows
    .filter(({ stage, server, lines }) => {
      const key = JSON.stringify([stage, server, lines]);
      const known = seen.has(key);
      seen.add(key);
      return known;
    })
    .map(({ line }) => line);
}

const TABLE_KEY = /^\| `([a-z0-9-]+)` \|/gm;
const keysIn = (file: URL) =>
  new Set([...readFileSync(file, "utf8").matchAll(TABLE_KEY)].map(([, key]) => key));

describe("the development half", () => {
  const rows = rowsOf("development");

  it("is large, of many servers, and repeats nothing", () => {
    assert.ok(rows.length >= 700, `${rows.length} rows`);
    assert.ok(new Set(rows.map(({ server }) => server)).size >= 25);
    assert.deepEqual(repeated(rows), []);
  });

  it("says where every row is from", () => {
    const keys = keysIn(new URL("../../../corpus/development.md", import.meta.url));
    const unexplained = rows.filter(({ source }) => !keys.has(source)).map(({ line }) => line);
    assert.deepEqual(unexplained, []);
  });
});

describe("the blind corpora", () => {
  for (const name of [...OPENED.filter((opened) => !HALVES.some((half) => half === opened)), ...BLIND]) {
    it(`${name} has enough of both kinds and repeats nothing`, () => {
      const rows = rowsOf(name);
      const faults = rows.filter(({ label }) => FAULT_OF[label] === "recipient").length;
      assert.ok(faults >= 150, `${faults} recipient faults`);
      assert.ok(rows.length - faults >= 150, `${rows.length - faults} others`);
      assert.deepEqual(repeated(rows), []);
    });
  }
});

describe("a corpus", () => {
  const row = "rcpt\tgoogle\tmailbox_not_found\t550-5.1.1 a | 5.1.1 b | 550 c\tkey";

  it("is read with its lines, and with the provider behind a name", () => {
    const [read] = parseCorpus(`# note\nstage\tprovider\tclass\treply\tsource\n\n${row}\n`);
    assert.deepEqual(read?.lines, ["550-5.1.1 a", "550-5.1.1 b", "550 c"]);
    assert.equal(read?.line, 4);
    assert.equal(read?.provider, "google");
    const providers = ["Gmail", "Postfix", "-", "web.de"].map(
      (server) => parseCorpus(row.replace("google", server))[0]?.provider,
    );
    assert.deepEqual(providers, ["google", null, null, "gmx"]);
  });

  it("that is badly written is refused without a word of its replies", () => {
    const wrong: [string, RegExp][] = [
      [row.replace("rcpt", "data"), /^line 1: not a stage$/],
      [row.replace("mailbox_not_found", "unknown"), /^line 1: not a class$/],
      [row.replace("550-5.1.1 a", "x"), /^line 1: not a reply$/],
      [row.replace("\tkey", ""), /^line 1: not a source$/],
      [`${row}\tmore`, /^line 1: not a source$/],
    ];
    for (const [text, message] of wrong) assert.throws(() => parseCorpus(text), { message });
  });
});

describe("the rules", () => {
  it("say where each example is from, and the notices explain it", () => {
    const keys = keysIn(new URL("../../../../THIRD_PARTY_NOTICES.md", import.meta.url));
    for (const { id, source } of RULES) assert.ok(keys.has(source), `${id}: ${source}`);
  });
});
