import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS } from "../../../../scripts/chaos/faults/faults.ts";
import { chaosOptions, commandOf, UsageError } from "../../../../scripts/chaos/options.ts";

const SEED = 17;
const options = (...argv: string[]) => chaosOptions(argv, () => SEED);

test("without arguments: three minutes of everything, by a new seed", () => {
  assert.deepEqual(options(), {
    ...{
      forMs: 180_000,
      seed: SEED,
      kinds: KINDS,
      overload: true,
      neighbours: true,
      times: 10,
      json: false,
      logsDir: null,
    },
  });
});

test("a seed, a time and the kinds that are wanted", () => {
  const { forMs, seed, kinds, overload } = options("--minutes", "0.5", "--seed", "4", "--only", "disk,kill");
  assert.deepEqual(
    { forMs, seed, kinds, overload },
    { forMs: 30_000, seed: 4, kinds: ["kill", "disk"], overload: false },
  );
  assert.deepEqual(options("--only", "overload").kinds, []);
  const alone = options("--only", "neighbours");
  assert.deepEqual([alone.kinds, alone.overload, alone.neighbours], [[], false, true]);
  assert.equal(commandOf(alone), "npm run chaos -- --seed 17 --minutes 3 --only neighbours");
});

test("what cannot be meant is refused, with what could be", () => {
  for (const argv of [
    ["--minutes", "0"],
    ["--minutes", "soon"],
    ["--minutes", "61"],
    ["--seed", "-1"],
    ["--seed", "1.5"],
    ["--seed", ""],
    ["--only", "earthquake"],
    ["--what"],
    ["more"],
  ])
    assert.throws(() => options(...argv), UsageError, argv.join(" "));
  assert.throws(() => options("--only", "earthquake"), /there is no earthquake; there are kill, /);
});

test("the command that repeats a run names all that its faults depend on", () => {
  const command = commandOf(options("--only", "disk,kill,overload", "--seed", "4", "--minutes", "0.5"));
  assert.equal(command, "npm run chaos -- --seed 4 --minutes 0.5 --only kill,disk,overload");
  const fewer = commandOf(options("--only", "overload", "--seed", "4", "--times", "4"));
  assert.equal(fewer, "npm run chaos -- --seed 4 --minutes 3 --only overload --times 4");
  assert.equal(commandOf(options()), "npm run chaos -- --seed 17 --minutes 3");
});
