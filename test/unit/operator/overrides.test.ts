import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Promotion, PromotionOutcome } from "../../../src/features/overrides/promotion.ts";
import { runOverrides } from "../../../src/operator/overrides.ts";
import { capturePrinted } from "../../support/printed.ts";

async function run(argv: string[], outcome: PromotionOutcome = { changed: [], unchanged: [] }) {
  const asked: string[] = [];
  const told = (verb: string) => async (names: readonly string[]) => {
    asked.push(`${verb} ${names.join(" ")}`);
    return outcome;
  };
  const promotion: Promotion = {
    promoted: async () => ["a.example", "b.example"],
    candidates: async () => [
      { domain: "throwaway.example", teams: 2, refusal: null },
      { domain: "gmail.com", teams: 1, refusal: "is a mailbox provider's" },
    ],
    promote: told("promote"),
    demote: told("demote"),
  };
  const { printed, ...output } = capturePrinted();
  const code = await runOverrides({
    argv,
    withPromotion: (work) => work(promotion),
    ...output,
  });
  return { code, ...printed, asked };
}

describe("the command overrides", () => {
  it("lists what is promoted, a domain a line", async () => {
    assert.deepEqual(await run(["list"]), {
      code: 0,
      stdout: "a.example\nb.example\n",
      stderr: "",
      asked: [],
    });
  });

  it("lists overrides of teams that were not promoted, and those that would be refused", async () => {
    const { code, stdout } = await run(["list", "--pending-promotion"]);
    assert.equal(code, 0);
    assert.deepEqual(stdout.split("\n"), [
      "throwaway.example\t2 teams",
      "gmail.com\t1 team\twould be refused: is a mailbox provider's",
      "",
    ]);
  });

  for (const verb of ["promote", "demote"]) {
    it(`says of each domain what became of it: ${verb}`, async () => {
      const result = await run([verb, "a.example", "b.example"], {
        changed: ["a.example"],
        unchanged: ["b.example"],
      });
      assert.deepEqual(result, {
        code: 0,
        stdout: `a.example ${verb}d\nb.example was ${verb}d already\n`,
        stderr: "",
        asked: [`${verb} a.example b.example`],
      });
    });

    it(`ends with exit code 1 and a line for each refused domain: ${verb}`, async () => {
      const { code, stdout, stderr } = await run([verb, "gmail.com", "com"], {
        refused: [
          { name: "gmail.com", why: "is a free-mail provider's" },
          { name: "com", why: "is no domain below a top-level one" },
        ],
      });
      assert.equal(code, 1);
      assert.equal(stdout, "");
      assert.deepEqual(stderr.split("\n"), [
        "overrides: gmail.com is a free-mail provider's",
        "overrides: com is no domain below a top-level one",
        "overrides: nothing was changed",
        "",
      ]);
    });
  }

  it("answers wrong arguments with one line and exit code 2, before anything is done", async () => {
    const many = Array.from({ length: LIMITS.overrides.operatorArguments + 1 }, (_, i) => `d${i}.example`);
    const wrong = [
      [],
      ["add", "a.example"],
      ["list", "a.example"],
      ["promote"],
      ["demote"],
      ["promote", "--pending-promotion", "a.example"],
      ["promote", "--force", "a.example"],
      ["--pending-promotion"],
      ["promote", ...many],
    ];
    for (const argv of wrong) {
      const { code, stdout, stderr, asked } = await run(argv);
      assert.equal(code, 2, argv.slice(0, 3).join(" "));
      assert.match(stderr, /^overrides: [^\n]+\n$/);
      assert.equal(stdout, "");
      assert.deepEqual(asked, []);
    }
  });
});
