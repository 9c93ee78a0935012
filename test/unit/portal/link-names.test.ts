import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linkNames } from "../../../portal/src/words/link-names.ts";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { mailableName, portalLink } from "../../../src/features/mail/texts.ts";

const namesOf = (parts: Parameters<typeof portalLink>[2]) =>
  linkNames(new URL(portalLink("https://rcpt.example/base", "accept-invite", parts)).hash);

describe("the names in a mailed link", () => {
  it("are those that it was made with, up to the longest", () => {
    const names = {
      email: `o'brien+a&b@${"x".repeat(63)}.test`,
      team: "ö".repeat(LIMITS.mail.teamNameChars),
    };
    assert.deepEqual(namesOf({ token: "t", ...names }), names);
    assert.deepEqual(namesOf({ token: "t", email: "a@x.test", team: null }), {
      email: "a@x.test",
      team: null,
    });
  });

  it("are of a team only as a mail may show them", () => {
    const names = [
      "Ann & Bob",
      "Visit evil.example",
      "a@x.test",
      "http://x",
      "x\u200by",
      "a\u3000b",
      "x。y",
      "Dr. No",
    ];
    for (const name of names)
      assert.equal(
        namesOf({ token: "t", email: "a@x.test", team: name }).team === name,
        mailableName(name) === name,
        name,
      );
    assert.equal(namesOf({ token: "t", email: "a@x.test", team: "Visit evil.example" }).team, null);
  });

  it("are left out where there are none, or ones too long to be ours", () => {
    const none = { email: null, team: null };
    for (const hash of ["", "#", "#token=t", "#token=t&email=&team=%20"])
      assert.deepEqual(linkNames(hash), none);
    assert.deepEqual(linkNames(`#email=${"a".repeat(255)}&team=${"b".repeat(61)}`), none);
  });
});
