import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/core/limits.ts";
import { engine, OK, replied, UNKNOWN } from "../../support/check-engine.ts";

/** What the engine makes of servers that put us off, and of sites that cannot be believed. */
const { addressesOfFew, quietRun, exploreEvery } = LIMITS.belief;

describe("a stranger who is greylisted", () => {
  it("is asked again, and the same one, when the server said; until then the answer is unconfirmed", async () => {
    let relented = false;
    const greylisted = replied(450, "4.2.0", "Greylisted, please try again in 20 seconds");
    const { check, asked, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : relented ? UNKNOWN : greylisted,
    );
    const first = await check("alice");
    assert.deepEqual(
      [first?.smtp?.class, first?.smtp?.catchAll, first?.smtp?.retryAfterS],
      ["accepted", "inconclusive", 20],
    );
    const stranger = asked.at(-1);
    relented = true;
    clock.advance(19_000);
    assert.equal((await check("alice"))?.smtp?.catchAll, "inconclusive");
    clock.advance(1_001);
    const later = await check("alice");
    assert.deepEqual([later?.smtp?.catchAll, later?.smtp?.retryAfterS], ["refused", null]);
    assert.equal(asked.at(-1), stranger);
  });

  it("has the usual delay where the server names none, and none where it was no greylisting", async () => {
    const said = async (text: string, enhanced: string) => {
      const { check } = engine((address) =>
        address.startsWith("alice@") ? OK : replied(451, enhanced, text),
      );
      return (await check("alice"))?.smtp?.retryAfterS;
    };
    assert.equal(await said("Greylisted, come back later", "4.7.1"), LIMITS.rechecks.usualS);
    assert.equal(await said("Temporary lookup failure", "4.3.0"), null);
  });
});

describe("a site where everybody is refused", () => {
  it("is not believed once its postmaster is refused too, and not asked but now and then", async () => {
    let accepts = false;
    const { check, asked, beliefs } = engine((address) =>
      accepts && address.startsWith("alice") ? OK : UNKNOWN,
    );
    const ends: (string | undefined)[] = [];
    for (let i = 0; i < addressesOfFew + quietRun; i++) ends.push((await check(`a${i}`))?.smtp?.rule);
    const at = ends.indexOf("belief.refuses_all");
    assert.ok(at > 0 && at <= addressesOfFew, `${at} were condemned`);
    assert.equal(asked.filter((line) => line.startsWith("postmaster@")).length, 1);
    assert.equal(asked.length, at + 2, "those behind were not asked about");
    const { smtp } = (await check("b")) ?? {};
    assert.deepEqual(
      [smtp?.class, smtp?.fault, smtp?.stage, smtp?.reply],
      ["provider_unverifiable", "their_server", "connect", ""],
    );
    accepts = true;
    for (let i = 0; i < exploreEvery; i++) await check(`alice${i}`);
    assert.equal(beliefs.authority.habitOf("example.test"), null);
    assert.equal((await check("c"))?.smtp?.class, "mailbox_not_found");
  });

  it("is believed where its postmaster is not", async () => {
    const { check, asked } = engine((address) => (address.startsWith("postmaster@") ? OK : UNKNOWN));
    for (let i = 0; i < 3 * addressesOfFew; i++)
      assert.equal((await check(`a${i}`))?.smtp?.class, "mailbox_not_found");
    assert.equal(asked.filter((line) => line.startsWith("postmaster@")).length, 1);
  });
});
