import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDnsBlockLists } from "../../../../src/egress/self-check/dnsbl.ts";
import { createScriptedResolver, type ScriptedNames } from "../../../support/scripted-resolver.ts";

const ZONE = "bl.test";
/** As RFC 5782 §5 wants it. */
const healthy = (zone: string): ScriptedNames => ({ [`2.0.0.127.${zone}`]: { A: ["127.0.0.2"] } });
const LISTED = `5.113.0.203.${ZONE}`;

async function check(names: ScriptedNames, zones = [ZONE], address = "203.0.113.5") {
  const resolver = createScriptedResolver(names);
  const finding = await createDnsBlockLists(resolver, zones).check(address);
  return { ...finding, asked: resolver.asked };
}

describe("block lists of addresses", () => {
  it("are reported with name, answer and text", async () => {
    const found = await check({
      ...healthy(ZONE),
      [LISTED]: { A: ["127.0.0.4"], TXT: ["see https://bl.test/q?ip=203.0.113.5\n\u0007"] },
    });
    assert.deepEqual([found.result, found.weight], ["fail", "trust"]);
    assert.equal(
      found.seen,
      "203.0.113.5 is listed at bl.test (127.0.0.4: see https://bl.test/q?ip=203.0.113.5 ).",
    );
  });

  it("know IPv6 by nibbles, with test points of its own", async () => {
    const test = "2.0.0.0.0.0.f.7.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.bl.test";
    const listed = "5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.bl.test";
    const names: ScriptedNames = { [test]: { A: ["127.0.0.2"] }, [listed]: { A: ["127.0.0.2"] } };
    assert.equal((await check(names, [ZONE], "2001:db8::5")).result, "fail");
    assert.equal((await check({ [test]: { A: ["127.0.0.2"] } }, [ZONE], "2001:db8::5")).result, "pass");
    assert.equal((await check(healthy(ZONE), [ZONE], "2001:db8::5")).result, "unknown", "it knows no IPv6");
  });

  it("pass what they do not list", async () => {
    const { result, seen } = await check(healthy(ZONE));
    assert.deepEqual([result, seen], ["pass", "203.0.113.5 is not listed at bl.test."]);
  });

  const BROKEN: [why: string, names: ScriptedNames][] = [
    ["it lists everything", { ...healthy(ZONE), [`1.0.0.127.${ZONE}`]: { A: ["127.0.0.2"] } }],
    ["it lists nothing, not even its test point", {}],
    ["it answers with addresses of a parking page", { [`2.0.0.127.${ZONE}`]: { A: ["192.0.2.80"] } }],
    ["it wants no public resolver", { [`2.0.0.127.${ZONE}`]: { A: ["127.255.255.254"] } }],
    ["it does not answer", { [`2.0.0.127.${ZONE}`]: { A: "fail" } }],
  ];
  for (const [why, names] of BROKEN) {
    it(`are not trusted: ${why}`, async () => {
      const { result, seen } = await check({ ...names, [LISTED]: { A: ["127.0.0.2"] } });
      assert.equal(result, "unknown", seen);
      assert.match(seen, /bl\.test cannot be believed/);
    });
  }

  it("are asked again soon where they list us and their test points do not answer", async () => {
    const names: ScriptedNames = { [LISTED]: { A: ["127.0.0.2"] }, [`2.0.0.127.${ZONE}`]: { A: "fail" } };
    const found = await check(names);
    assert.deepEqual([found.result, found.again, found.untold], ["unknown", true, [`203.0.113.5 ${ZONE}`]]);
    const beside = await check({ ...names, ...healthy("good.test") }, [ZONE, "good.test"]);
    assert.deepEqual([beside.result, beside.again], ["unknown", true], "another's good word is not theirs");
    const clear = await check({ [`2.0.0.127.${ZONE}`]: { A: "fail" } });
    assert.deepEqual(
      [clear.result, clear.again, clear.untold],
      ["unknown", undefined, [`203.0.113.5 ${ZONE}`]],
    );
  });

  it("say which could not be told, save those that are no lists any more", async () => {
    const untoldOf = async (names: ScriptedNames) => (await check(names)).untold;
    assert.deepEqual(await untoldOf({ [`2.0.0.127.${ZONE}`]: { A: ["127.255.255.254"] } }), [
      `203.0.113.5 ${ZONE}`,
    ]);
    assert.deepEqual(await untoldOf({ ...healthy(ZONE), [LISTED]: { A: "fail" } }), [`203.0.113.5 ${ZONE}`]);
    assert.deepEqual(await untoldOf({ ...healthy(ZONE), [`1.0.0.127.${ZONE}`]: { A: ["127.0.0.2"] } }), []);
    assert.deepEqual(await untoldOf({ [`2.0.0.127.${ZONE}`]: { A: ["192.0.2.80"] } }), []);
  });

  it("take no error code for a listing", async () => {
    for (const answer of ["127.255.255.254", "192.0.2.1"])
      assert.equal((await check({ ...healthy(ZONE), [LISTED]: { A: [answer] } })).result, "unknown");
  });

  it("that are broken take nothing from those that are not", async () => {
    const names = { ...healthy("good.test"), "5.113.0.203.good.test": { A: ["127.0.0.3"] } };
    const found = await check(names, ["broken.test", "good.test"]);
    assert.equal(found.result, "fail");
    assert.match(found.seen, /listed at good\.test \(127\.0\.0\.3\)\. broken\.test cannot be believed/);
    assert.equal((await check(healthy("good.test"), ["broken.test", "good.test"])).result, "pass");
  });

  it("are tested once for all addresses of a round", async () => {
    const resolver = createScriptedResolver(healthy(ZONE));
    const lists = createDnsBlockLists(resolver, [ZONE]);
    await Promise.all([lists.check("203.0.113.5"), lists.check("203.0.113.6"), lists.check("203.0.113.7")]);
    assert.equal(resolver.asked.length, 2 + 3);
  });

  it("may be none", async () => assert.equal((await check({}, [])).result, "skipped"));
});
