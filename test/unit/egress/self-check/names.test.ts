import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkForward, checkHeloName, checkReverse } from "../../../../src/egress/self-check/names.ts";
import { isSameAddress, ptrNameOf, reverseLabels } from "../../../../src/egress/self-check/reverse.ts";
import { mostFrequentAddress, seenAddressOf } from "../../../../src/egress/self-check/seen-address.ts";
import { createScriptedResolver, type ScriptedNames } from "../../../support/scripted-resolver.ts";

const NAME = "probe.example.com";
const ADDRESS = "203.0.113.5";
const POINTER = "5.113.0.203.in-addr.arpa";
const V6 = "2001:db8::5";

describe("reverse names", () => {
  it("turn octets and nibbles round", () => {
    assert.equal(ptrNameOf("192.0.2.1"), "1.2.0.192.in-addr.arpa");
    assert.equal(
      ptrNameOf("2001:db8::567:89ab"),
      "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
    );
    assert.equal(reverseLabels("::ffff:192.0.2.1"), "1.2.0.192", "a mapped address is the IPv4 address");
  });

  it("know one address in two writings", () => {
    assert.equal(isSameAddress("2001:DB8:0:0::5", V6), true);
    assert.equal(isSameAddress("203.0.113.5", "203.0.113.50"), false);
  });
});

describe("what servers say that we are", () => {
  const SAID: [line: string, address: string | null][] = [
    ["mx.google.com at your service, [8.8.8.8]", "8.8.8.8"],
    ["VI1EUR05FT062.mail.protection.outlook.com Hello [9.9.9.9]", "9.9.9.9"],
    ["mail.example.org Hello probe.example.com [8.8.4.4], pleased to meet you", "8.8.4.4"],
    ["mx.example.org at your service, [IPv6:2606:4700::1111]", "2606:4700::1111"],
    ["mx.example.org [10.0.0.1] via [8.8.8.8]", "8.8.8.8"],
    ["mx.example.org Hello [192.168.1.5]", null],
    ["mx.example.org ESMTP [build 1.2.3]", null],
    ["mx.example.org", null],
  ];
  for (const [line, address] of SAID) it(line, () => assert.equal(seenAddressOf(line, false), address));

  it("may be a private address where probes may go to some", () => {
    assert.equal(seenAddressOf("mx.test Hello [127.0.0.77]", true), "127.0.0.77");
  });

  it("is what most of them say", () => {
    assert.equal(mostFrequentAddress([]), null);
    assert.equal(mostFrequentAddress(["a", "b", "b"]), "b");
    assert.equal(mostFrequentAddress(["a", "b"]), "a");
  });
});

describe("the HELO name", () => {
  it("that was not given fails once servers of the internet see it, not before", () => {
    const made = { name: "box.localdomain", isConfigured: false };
    const seen = checkHeloName(made, true);
    assert.deepEqual([seen.result, seen.weight], ["fail", "trust"]);
    assert.match(seen.advice, /SMTP_HELO_NAME/);
    assert.equal(checkHeloName(made, false).result, "unknown");
  });

  it("that does not resolve gives a warning", () => {
    const finding = checkHeloName({ name: "probe.lan", isConfigured: true }, true);
    assert.deepEqual([finding.result, finding.weight], ["fail", "advice"]);
    assert.equal(checkHeloName({ name: NAME, isConfigured: true }, true).result, "pass");
  });
});

describe("forward-confirmed reverse DNS", () => {
  const forward = async (names: ScriptedNames, address = ADDRESS) =>
    (await checkForward(createScriptedResolver(names), NAME, address)).result;
  const reverse = async (names: ScriptedNames, address = ADDRESS) =>
    (await checkReverse(createScriptedResolver(names), NAME, address)).result;

  it("wants the name to lead to the address", async () => {
    assert.equal(await forward({ [NAME]: { A: ["203.0.113.4", ADDRESS] } }), "pass");
    assert.equal(await forward({ [NAME]: { A: ["203.0.113.4"] } }), "fail");
    assert.equal(await forward({}), "fail");
    assert.equal(await forward({ [NAME]: { AAAA: ["2001:db8:0::5"] } }, V6), "pass");
    assert.equal(await forward({ [NAME]: { A: [ADDRESS] } }, V6), "fail");
  });

  it("wants the address to have that name, or one that leads back", async () => {
    assert.equal(await reverse({ [POINTER]: { PTR: [NAME] } }), "pass");
    const other = { [POINTER]: { PTR: ["a.example.net"] } };
    assert.equal(await reverse({ ...other, "a.example.net": { A: [ADDRESS] } }), "pass");
    assert.equal(await reverse({ ...other, "a.example.net": { A: ["203.0.113.9"] } }), "fail");
    assert.equal(await reverse(other), "fail");
    assert.equal(await reverse({}), "fail");
  });

  it("believes no absence without proof and no failure", async () => {
    assert.equal(await forward({ [NAME]: { A: "fail" } }), "unknown");
    assert.equal(await forward({ [NAME]: { A: "unproven" } }), "unknown");
    assert.equal(await reverse({ [POINTER]: { PTR: "fail" } }), "unknown");
    assert.equal(await reverse({ [POINTER]: { PTR: "unproven" } }), "unknown");
    assert.equal(await reverse({ [POINTER]: { PTR: ["a.test"] }, "a.test": { A: "fail" } }), "unknown");
  });
});
