import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { Evidence } from "../../../src/verification/evidence.ts";
import { engine, OK, replied, UNKNOWN } from "../../support/check-engine.ts";

/** The engine's treatment of servers that defer, and of sites whose answers are meaningless. */
const { addresses, controls, domains, quietRun, exploreEvery } = LIMITS.learnedBehaviour;

describe("results of catch-all probes", () => {
  it("counts once for each mailbox that is accepted, as known or as asked for", async () => {
    const { ask, strangers } = engine((address) => (/^(?:alice|bob)@/.test(address) ? OK : UNKNOWN));
    await ask("alice", "bulk");
    assert.deepEqual(strangers, { hit: 0, asked: 1 });
    await ask("bob", "bulk");
    await ask("nobody", "bulk");
    assert.deepEqual(strangers, { hit: 1, asked: 1 });
    await Promise.all([ask("alice", "bulk"), ask("bob", "single")]);
    assert.deepEqual(strangers, { hit: 3, asked: 1 });
  });
});

describe("a catch-all probe that is greylisted", () => {
  it("is asked again, and the same one, when the server said; until then the answer is unconfirmed", async () => {
    let relented = false;
    const greylisted = replied(450, "4.2.0", "Greylisted, please try again in 20 seconds");
    const { check, asked, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : relented ? UNKNOWN : greylisted,
    );
    const first = await check("alice");
    assert.deepEqual(
      [first?.smtp?.class, first?.smtp?.catchAll, first?.smtp?.retryAfterS],
      ["accepted", "put_off", 20],
    );
    const stranger = asked.at(-1);
    relented = true;
    clock.advance(19_000);
    assert.equal((await check("alice"))?.smtp?.catchAll, "put_off");
    clock.advance(1_001);
    const later = await check("alice");
    assert.deepEqual([later?.smtp?.catchAll, later?.smtp?.retryAfterS], ["refused", null]);
    assert.equal(asked.at(-1), stranger);
  });

  it("has no delay where the server states none", async () => {
    const said = async (text: string, enhanced: string) => {
      const { check } = engine((address) =>
        address.startsWith("alice@") ? OK : replied(451, enhanced, text),
      );
      return (await check("alice"))?.smtp?.retryAfterS;
    };
    assert.equal(await said("Greylisted, come back later", "4.7.1"), null);
    assert.equal(await said("Temporary lookup failure", "4.3.0"), null);
  });
});

describe("a site where everybody is refused", () => {
  it("is not trusted once its postmaster is refused too, and asked only now and then", async () => {
    let accepts = false;
    const { askAbout, asked, behaviours } = engine((address) =>
      accepts && address.startsWith("alice") ? OK : UNKNOWN,
    );
    const check = async (name: string, i = 0) =>
      (await askAbout(`${name}@d${i % domains}.test`, "single")) as Evidence | null;
    const ends: (string | undefined)[] = [];
    for (let i = 0; i < addresses + quietRun; i++) ends.push((await check(`a${i}`, i))?.smtp?.rule);
    const at = ends.indexOf("belief.refuses_all");
    assert.ok(at > 0 && at <= addresses, `${at} were condemned`);
    assert.equal(asked.filter((line) => line.startsWith("postmaster@")).length, controls);
    const behind = ends.length - at - 1;
    assert.equal(
      asked.length,
      at + 1 + controls + Math.min(behind, domains),
      "one of each domain was asked about",
    );
    const { smtp } = (await check("b")) ?? {};
    assert.deepEqual(
      [smtp?.class, smtp?.fault, smtp?.stage, smtp?.reply],
      ["provider_unverifiable", "their_server", "connect", ""],
    );
    accepts = true;
    for (let i = 0; i < exploreEvery; i++) await check(`alice${i}`, i);
    assert.equal(behaviours.authority.behaviourOf("example.test"), null);
    assert.equal((await check("c"))?.smtp?.class, "mailbox_not_found");
  });

  it("is trusted where its postmaster is not refused", async () => {
    const { askAbout, asked } = engine((address) => (address.startsWith("postmaster@") ? OK : UNKNOWN));
    for (let i = 0; i < 3 * addresses; i++) {
      const found = (await askAbout(`a${i}@d${i % domains}.test`, "single")) as Evidence | null;
      assert.equal(found?.smtp?.class, "mailbox_not_found");
    }
    assert.equal(asked.filter((line) => line.startsWith("postmaster@")).length, 1);
  });

  it("is asked for its postmaster with a deadline of its own, though the check has no time left", async () => {
    const left: number[] = [];
    const made = engine(
      () => {
        made.clock.advance(LIMITS.smtp.probeBudgetMs - 1);
        return UNKNOWN;
      },
      ({ deadlineAt }) => void left.push(deadlineAt - made.clock.monotonic()),
    );
    let last = 0;
    for (let i = 0; last < 1 && i < 3 * addresses; i++) {
      const before = left.length;
      await made.askAbout(`a${i}@d${i % domains}.test`, "single");
      if (left.length > before + 1) last = left[before + 1] ?? 0;
    }
    assert.equal(last, LIMITS.learnedBehaviour.controlBudgetMs);
  });
});
