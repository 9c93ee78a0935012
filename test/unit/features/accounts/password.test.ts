import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPasswords, passwordFault } from "../../../../src/features/accounts/password.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

const PASSWORD = "correct horse battery";

describe("a new password", () => {
  const cases: [string, string, RegExp | null][] = [
    ["12 characters", "a".repeat(12), null],
    ["11", "a".repeat(11), /at least 12/],
    ["200", "a".repeat(200), null],
    ["201", "a".repeat(201), /at most 200/],
    ["200 beyond the basic plane", "\u{1f40e}".repeat(200), null],
    ["11 beyond the basic plane, of 22 units", "\u{1f40e}".repeat(11), /at least 12/],
    ["12 letters with loose accents", "a\u0308".repeat(12), null],
    ["11 letters with loose accents", "a\u0308".repeat(11), /at least 12/],
    ["20 that NFKC makes 360 of", "\ufdfa".repeat(20), /at most 200/],
    ["spaces", " ".repeat(12), null],
    ["a NUL", `${PASSWORD}\0`, /NUL/],
    ["half a pair", `${PASSWORD}\ud800`, /Unicode/],
    ["a million", "a".repeat(1_000_000), /at most 200/],
  ];
  for (const [what, password, fault] of cases) {
    it(`of ${what} is ${fault === null ? "taken" : "refused"}`, () => {
      if (fault === null) assert.equal(passwordFault(password), null);
      else assert.match(passwordFault(password) ?? "", fault);
    });
  }

  it("is taken or refused the same in each of its normal forms", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (password) => {
        const faults = ["NFC", "NFD", "NFKC", "NFKD"].map((form) => passwordFault(password.normalize(form)));
        assert.equal(new Set(faults).size, 1);
      }),
    );
  });
});

describe("a stored password", () => {
  it("is argon2id with the parameters of the limits, salted, and matches itself alone", async () => {
    const passwords = createPasswords(8);
    const [one, two] = await Promise.all([
      passwords.hash(PASSWORD, "unknown"),
      passwords.hash(PASSWORD, "unknown"),
    ]);
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.notEqual(one, two);
    assert.equal(await passwords.verify(one, PASSWORD, "unknown"), true);
    for (const other of [
      PASSWORD.toUpperCase(),
      `${PASSWORD} `,
      "",
      `${PASSWORD}\0`,
      "\ud800",
      "a".repeat(5_000),
    ])
      assert.equal(await passwords.verify(one, other, "unknown"), false);
  });

  it("is one text in all its Unicode forms", async () => {
    const passwords = createPasswords(8);
    const stored = await passwords.hash("Pa\u0308sswort \ufb01nal", "unknown");
    assert.equal(await passwords.verify(stored, "P\u00e4sswort final", "unknown"), true);
  });

  it("that is malformed matches nothing, and costs as much to verify", async () => {
    const passwords = createPasswords(8);
    const stored = await passwords.hash(PASSWORD, "unknown");
    const costMs = async (hash: string | null) => {
      const beganMs = process.cpuUsage();
      for (let i = 0; i < 5; i++)
        assert.equal(await passwords.verify(hash, "a wrong password", "unknown"), false);
      const { user, system } = process.cpuUsage(beganMs);
      return (user + system) / 1000;
    };
    const known = await costMs(stored);
    assert.ok((await costMs(null)) > known / 3);
  });

  const { hashesInFlight, hashesWaiting } = LIMITS.portal;
  const allRefused = (outcomes: PromiseSettledResult<unknown>[], count: number) => {
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.equal(refused.length, count);
    for (const { reason } of refused) assert.ok(reason instanceof AppError && reason.code === "overloaded");
  };

  for (const [cores, places] of [
    [1, 1],
    [2, 1],
    [4, 2],
    [64, hashesInFlight],
  ] as const) {
    it(`waits for one of ${places} turns on ${cores} cores, and is turned away when too many wait`, async () => {
      const passwords = createPasswords(cores);
      const asked = Array.from({ length: places + hashesWaiting.unknown + 7 }, () =>
        passwords.verify(null, "x", "unknown"),
      );
      allRefused(await Promise.allSettled(asked), 7);
      const stored = await passwords.hash(PASSWORD, "unknown");
      assert.equal(await passwords.verify(stored, PASSWORD, "unknown"), true);
    });
  }

  it("of a known client is verified before those of unknown ones, however many they are", async () => {
    const passwords = createPasswords(2);
    const order: string[] = [];
    const look = (standing: "known" | "unknown") =>
      passwords.verify(null, "x", standing).then(() => void order.push(standing));
    const flood = Array.from({ length: hashesWaiting.unknown + 50 }, () => look("unknown"));
    const known = Array.from({ length: hashesWaiting.known + 3 }, () => look("known"));
    const outcomes = await Promise.all([Promise.allSettled(flood), Promise.allSettled(known)]);
    allRefused(outcomes[0], 49);
    allRefused(outcomes[1], 3);
    assert.deepEqual(order.slice(0, 1 + hashesWaiting.known), [
      "unknown",
      ...Array(hashesWaiting.known).fill("known"),
    ]);
  });
});
