import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTestOptions } from "../../../../scripts/test/options.ts";
import fc from "../../../support/properties.ts";

const seedOf = (...args: string[]) => parseTestOptions(args, () => 0.5).seed;

test("without arguments: all files, by the same seed each time", () => {
  assert.deepEqual(parseTestOptions([]), { filters: [], seed: seedOf() });
  assert.equal(seedOf(), parseTestOptions([], () => 0.9).seed);
});

test("paths and a seed, in any order", () => {
  const wanted = { filters: ["test/unit", "test/scenario"], seed: 4 };
  assert.deepEqual(parseTestOptions(["--seed", "4", "test/unit", "test/scenario"]), wanted);
  assert.deepEqual(parseTestOptions(["test/unit", "--seed=4", "test/scenario"]), wanted);
});

test("a seed by chance, within what fast-check takes", () => {
  assert.equal(seedOf("--seed", "random"), 2 ** 30);
  assert.equal(parseTestOptions(["--seed", "random"], () => 1 - Number.EPSILON).seed, 2 ** 31 - 1);
});

test("anything else is refused", () => {
  for (const seed of ["", "-1", "1.5", "1e3", "2147483648", "99999999999", "Random"])
    assert.throws(
      () => seedOf(`--seed=${seed}`),
      /--seed takes "random" or a number from 0 to 2147483647/,
      seed,
    );
  assert.throws(() => seedOf("--seed"), /argument missing/);
  assert.throws(() => seedOf("--sead", "3"), /--sead/);
});

test("properties draw by the seed of the run", () => {
  const { RCPT_TEST_SEED } = process.env;
  assert.equal(
    fc.readConfigureGlobal().seed,
    RCPT_TEST_SEED === undefined ? undefined : Number(RCPT_TEST_SEED),
  );
});
