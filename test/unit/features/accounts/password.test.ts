import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createPasswords, passwordFault } from "../../../../src/features/accounts/password.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import fc from "../../../support/properties.ts";

const PASSWORD = "correct horse battery";
const SOMEONE = { standing: "unknown", share: "192.0.2.1" } as const;

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
      passwords.hash(PASSWORD, SOMEONE),
      passwords.hash(PASSWORD, SOMEONE),
    ]);
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.notEqual(one, two);
    assert.equal(await passwords.verify(one, PASSWORD, SOMEONE), true);
    for (const other of [
      PASSWORD.toUpperCase(),
      `${PASSWORD} `,
      "",
      `${PASSWORD}\0`,
      "\ud800",
      "a".repeat(5_000),
    ])
      assert.equal(await passwords.verify(one, other, SOMEONE), false);
  });

  it("is one text in all its Unicode forms", async () => {
    const passwords = createPasswords(8);
    const stored = await passwords.hash("Pa\u0308sswort \ufb01nal", SOMEONE);
    assert.equal(await passwords.verify(stored, "P\u00e4sswort final", SOMEONE), true);
  });

  it("that is malformed matches nothing, and costs as much to verify", async () => {
    const passwords = createPasswords(8);
    const stored = await passwords.hash(PASSWORD, SOMEONE);
    const costMs = async (hash: string | null) => {
      const beganMs = process.cpuUsage();
      for (let i = 0; i < 5; i++)
        assert.equal(await passwords.verify(hash, "a wrong password", SOMEONE), false);
      const { user, system } = process.cpuUsage(beganMs);
      return (user + system) / 1000;
    };
    const known = await costMs(stored);
    assert.ok((await costMs(null)) > known / 3);
  });

  const { hashesInFlight, hashes } = LIMITS.portal;
  const refused = (outcomes: PromiseSettledResult<unknown>[]) => {
    const reasons = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    for (const reason of reasons) assert.ok(reason instanceof AppError && reason.code === "overloaded");
    return reasons.length;
  };
  const network = (i: number, standing: "known" | "unknown" = "unknown") => ({ standing, share: `net ${i}` });

  for (const [cores, places] of [
    [1, 1],
    [2, 1],
    [4, 2],
    [64, hashesInFlight],
  ] as const) {
    it(`waits for one of ${places} turns on ${cores} cores, and is turned away when too many wait`, async () => {
      const passwords = createPasswords(cores);
      let running = 0;
      const asked = Array.from({ length: hashes.unknown.all + 7 }, async (_, i) => {
        await passwords.verify(null, "x", network(i));
        running += 1;
      });
      assert.equal(refused(await Promise.allSettled(asked)), 7);
      assert.equal(running, hashes.unknown.all);
      const stored = await passwords.hash(PASSWORD, SOMEONE);
      assert.equal(await passwords.verify(stored, PASSWORD, SOMEONE), true);
    });
  }

  it("of a known client waits for few of unknown ones, however many they are", async () => {
    const passwords = createPasswords(2);
    const order: string[] = [];
    const look = (i: number, standing: "known" | "unknown") =>
      passwords.verify(null, "x", network(i, standing)).then(() => void order.push(standing));
    const { all, perShare } = hashes.unknown;
    const flood = Array.from({ length: all + 50 }, (_, i) => look(i, "unknown"));
    // The first has its turn by then, and no hash has ended.
    for (let i = 0; i < 10; i++) await Promise.resolve();
    const known = Array.from({ length: perShare }, (_, i) => look(i, "known"));
    const outcomes = await Promise.all([Promise.allSettled(flood), Promise.allSettled(known)]);
    assert.deepEqual(outcomes.map(refused), [50, 0]);
    assert.deepEqual(order.slice(0, 1 + perShare), ["unknown", ...Array(perShare).fill("known")]);
  });

  for (const standing of ["known", "unknown"] as const)
    it(`is a hash that one ${standing} network or user cannot keep from others, nor delay by more than one`, async () => {
      const passwords = createPasswords(2);
      const order: string[] = [];
      const look = (i: number) =>
        passwords.verify(null, "x", network(i, standing)).then(() => void order.push(`net ${i}`));
      const flood = Array.from({ length: 100 }, () => look(0));
      const others = [look(1), look(2)];
      const outcomes = await Promise.all([Promise.allSettled(flood), Promise.allSettled(others)]);
      assert.deepEqual(outcomes.map(refused), [100 - hashes[standing].perShare, 0]);
      assert.deepEqual(order.slice(0, 4), ["net 0", "net 1", "net 2", "net 0"]);
    });

  it("of an unknown client gets its turn beside one user who changes passwords all the time", async () => {
    const passwords = createPasswords(2);
    const order: string[] = [];
    const look = (standing: "known" | "unknown") =>
      passwords.verify(null, "x", network(0, standing)).then(() => void order.push(standing));
    await Promise.all([
      ...Array.from({ length: hashes.known.perShare }, () => look("known")),
      look("unknown"),
    ]);
    assert.deepEqual(order.slice(0, 3), ["known", "unknown", "known"]);
  });
});
