import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { later, nullable, struct, text } from "../../../../src/verification/evidence/kinds.ts";

const SRC = join(import.meta.dirname, "../../../../src");

/** The files through which evidence passes as a whole: its model, the threads' messages, memory and Redis. */
const CARRIERS = [
  ...readdirSync(join(SRC, "verification/evidence")).map((name) => `verification/evidence/${name}`),
  ...readdirSync(join(SRC, "features/verify/cache"))
    .filter((name) => /^(evidence-.*|cache-entry)\.ts$/.test(name))
    .map((name) => `features/verify/cache/${name}`),
];

describe("a field of evidence", () => {
  it("stands in one file of all that carry evidence: the table", () => {
    // Field names that have no other meaning in the code.
    const names = [
      ...["enhancedCode", "mxHost", "trusted", "retryAfterS", "tls", "catchAll"],
      ...["preferences", "spf", "dmarc", "listedBy", "parkedAddress"],
    ];
    assert.ok(CARRIERS.length >= 10);
    for (const name of names) {
      const files = CARRIERS.filter((file) =>
        new RegExp(`\\b${name}\\b`).test(readFileSync(join(SRC, file), "utf8")),
      );
      assert.deepEqual(files, ["verification/evidence/fields.ts"], name);
    }
  });

  it("that is added later is written, read and left out by its line alone", () => {
    const before = { rule: text };
    const after = { ...before, tlsVersion: later(nullable(text)) };
    const made: { rule: string; tlsVersion?: string } = { rule: "r" };
    const [old, now] = [struct(before), struct(after)];
    const read = (value: unknown) => now.read(JSON.parse(JSON.stringify(value)));
    assert.deepEqual(read(old.pack(made)), { rule: "r", tlsVersion: null });
    assert.deepEqual(read(now.pack({ rule: "r", tlsVersion: "1.3" })), { rule: "r", tlsVersion: "1.3" });
    assert.deepEqual(now.pack({ rule: "r", tlsVersion: null }), { rule: "r" });
    assert.deepEqual(old.read({ rule: "r", tlsVersion: "1.3" }), { rule: "r" });
    assert.throws(() => now.read({ rule: "r", tlsVersion: 1 }), TypeError);
    assert.throws(() => now.read({ tlsVersion: "1.3" }), TypeError);
  });
});
