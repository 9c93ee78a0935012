import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { loadShaping } from "../../../src/egress/shaping.ts";
import { AppError } from "../../../src/platform/errors.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { engine, OK, UNKNOWN } from "../../support/check-engine.ts";

const { maxConnections } = loadShaping().policyFor(null);
/** Rows that a site takes at once. */
const LINE = maxConnections * 10 * LIMITS.bulk.lineFillings;

const full = () => {
  throw new AppError("overloaded", "The resolver has too much to do.");
};

describe("rows of a new domain", () => {
  it("are asked about in their order as far as there is room, and of the others nothing is made", async () => {
    const answers: ((outcome: RcptOutcome) => void)[] = [];
    const roles: string[] = [];
    const role = (local: string) => {
      roles.push(local);
      return null;
    };
    // So many are refused in a row that a postmaster is asked about it.
    const { ask, asked } = engine(
      (address) => (address.startsWith("postmaster@") ? OK : new Promise((resolve) => answers.push(resolve))),
      () => {},
      { role },
    );
    const locals = Array.from({ length: LINE + 10 }, (_, i) => `row${i}`);
    const all = locals.map((local) => ask(local, "bulk"));
    assert.deepEqual(await Promise.all(all.slice(LINE)), Array(10).fill("busy"));
    const entered = locals.slice(0, LINE);
    assert.deepEqual(roles, entered);
    assert.deepEqual(
      asked,
      entered.map((local) => `${local}@example.test mx1.example.test`),
    );
    for (const answer of answers) answer(UNKNOWN);
    assert.ok((await Promise.all(all)).slice(0, LINE).every((known) => known !== "busy"));
  });

  it("break all where it cannot be looked up, and the next asks anew", async () => {
    let looks = 0;
    const hosts = {
      get "full.test"(): string[] {
        looks += 1;
        return full();
      },
    };
    const { askAbout } = engine(
      () => OK,
      () => {},
      { hosts },
    );
    const all = ["a", "b", "c"].map((local) => askAbout(`${local}@full.test`, "bulk"));
    for (const one of all) await assert.rejects(one, { code: "overloaded" });
    assert.equal(looks, 1);
    await assert.rejects(askAbout("d@full.test", "bulk"), { code: "overloaded" });
    assert.equal(looks, 2);
  });

  it("all fail where its route cannot be found, and the next looks for it anew", async () => {
    let isFull = true;
    const nowhere = Object.assign([], { includes: () => isFull && full() });
    const { ask } = engine(
      () => OK,
      () => {},
      { nowhere },
    );
    const all = ["a", "b", "c"].map((local) => ask(local, "bulk"));
    for (const one of all) await assert.rejects(one, { code: "overloaded" });
    isFull = false;
    const known = await ask("d", "bulk");
    assert.equal(known !== "busy" && known?.smtp?.class, "accepted");
  });

  it("fail one by one: an error of one does not stop the rows behind it", async () => {
    const role = (local: string) => {
      if (local === "bad") throw new Error("a list is damaged");
      return null;
    };
    const { ask } = engine(
      () => UNKNOWN,
      () => {},
      { role },
    );
    const [first, second, third] = ["a", "bad", "c"].map((local) => ask(local, "bulk"));
    await assert.rejects(second ?? Promise.resolve(), /damaged/);
    for (const one of [first, third]) {
      const known = await one;
      assert.equal(known !== "busy" && known?.smtp?.class, "mailbox_not_found");
    }
  });

  it("have no answer, and ask no server, where no caller waits for them any more", async () => {
    const gone = new Set(["b"]);
    const { ask, asked } = engine(() => UNKNOWN);
    const all = ["a", "b", "c"].map((local) => ask(local, "bulk", () => gone.has(local)));
    assert.equal(await all[1], null);
    await Promise.all(all);
    assert.deepEqual(
      asked.map((one) => one[0]),
      ["a", "c"],
    );
  });
});
