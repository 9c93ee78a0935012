import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import {
  CREDENTIAL_KINDS,
  hashSecret,
  isWellFormedSecret,
  newSecret,
  secretHint,
} from "../../../../src/features/identity/api-key.ts";
import fc from "../../../support/properties.ts";

describe("a secret", () => {
  it("has its kind, letters and digits only, and at least 160 random bits", () => {
    for (const kind of CREDENTIAL_KINDS) {
      const secret = newSecret(kind);
      const [, random = ""] = new RegExp(`^rcpt_${kind}_([0-9A-Za-z]{27})[0-9A-Za-z]{6}$`).exec(secret) ?? [];
      assert.ok(random.length * Math.log2(62) >= 160, secret);
      assert.equal(isWellFormedSecret(secret), true);
    }
    assert.notEqual(newSecret("live"), newSecret("live"));
  });

  it("uses every letter and digit about equally", () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 2_000; i++)
      for (const char of newSecret("live").slice(10, 37)) counts.set(char, (counts.get(char) ?? 0) + 1);
    const mean = (2_000 * 27) / 62;
    assert.equal(counts.size, 62);
    // 871 on average, standard deviation 29: seven deviations either way.
    for (const [char, count] of counts) assert.ok(Math.abs(count - mean) < 210, `${char}: ${count}`);
  });

  it("is distinguished from any that differs in one character", () => {
    const secret = newSecret("live");
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: secret.length - 1 }),
        fc.constantFrom(..."0aZ9x"),
        (at, char) => {
          fc.pre(secret[at] !== char);
          return !isWellFormedSecret(secret.slice(0, at) + char + secret.slice(at + 1));
        },
      ),
    );
    assert.equal(isWellFormedSecret(secret.replace("live", "test")), false);
  });

  it("is never found in arbitrary text", () => {
    fc.assert(fc.property(fc.string({ maxLength: 60 }), (text) => !isWellFormedSecret(text)));
  });

  it("is hashed with SHA-256 and hinted at by its two ends", () => {
    const secret = newSecret("test");
    assert.equal(hashSecret(secret), createHash("sha256").update(secret).digest("hex"));
    assert.deepEqual(secretHint(secret), { prefix: secret.slice(0, 14), last4: secret.slice(-4) });
  });
});
