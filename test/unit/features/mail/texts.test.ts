import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { mailRetryDelayMs } from "../../../../src/features/mail/deliver.ts";
import { invitationMail, mailableName, portalLink } from "../../../../src/features/mail/texts.ts";
import fc from "../../../support/properties.ts";

describe("a link", () => {
  it("leads to a page below the base, its token and whom it is for behind #", () => {
    const parts = { token: "rcpt_inv_x", email: "a+b@x.test", team: "Größe & Co" };
    for (const base of ["https://rcpt.example/base", "https://rcpt.example/base/"])
      assert.equal(
        portalLink(base, "accept-invite", parts),
        "https://rcpt.example/base/accept-invite#token=rcpt_inv_x&email=a%2Bb%40x.test&team=Gr%C3%B6%C3%9Fe+%26+Co",
      );
    assert.equal(
      portalLink("http://127.0.0.1:8080", "reset-password", { token: "t", email: "a@x.test" }),
      "http://127.0.0.1:8080/reset-password#token=t&email=a%40x.test",
    );
    assert.doesNotMatch(portalLink("http://x.test", "accept-invite", { ...parts, team: null }), /team/);
  });
});

describe("the name of a team in a mail", () => {
  for (const name of ["Example & Sons", "Größe GmbH", "研究 チーム", "R2-D2", "Acme Inc."])
    it(`${name} is shown`, () => assert.equal(mailableName(name), name));

  for (const name of [
    "http://evil.example",
    "visit evil.example now",
    "evil。example",
    "evil . example",
    "mailto:me",
    "me@evil",
    "x".repeat(LIMITS.mail.teamNameChars + 1),
    " \u200b ",
  ])
    it(`${JSON.stringify(name)} is not`, () => assert.equal(mailableName(name), null));

  it("is one line, whatever it holds", () => {
    assert.equal(mailableName("a\r\nBcc\u2028b\u202ec"), "a Bcc b c");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (name) => {
        assert.doesNotMatch(mailableName(name) ?? "", /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});

describe("the mail of an invitation", () => {
  const expiresAt = new Date("2026-01-08T00:00:00Z");
  const invite = { to: "a@example.com", link: "https://rcpt.example/x", token: "rcpt_inv_x", expiresAt };

  it("names the team, the role, the link and when it ends; its subject is ours alone", () => {
    const mail = invitationMail({ ...invite, teamName: "Example", role: "owner" });
    assert.equal(mail.subject, "Invitation to a team");
    for (const part of [
      'the team "Example"',
      "as an owner",
      invite.link,
      invite.token,
      "2026-01-08T00:00:00.000Z",
    ])
      assert.ok(mail.text.includes(part), part);
  });

  it("leaves a name out that reads as a link", () => {
    const mail = invitationMail({ ...invite, teamName: "evil.example", role: "member" });
    assert.ok(mail.text.includes("to join a team,") && !mail.text.includes("evil"), mail.text);
  });
});

describe("a mail that could not be sent", () => {
  it("is tried again after 10 s, then twice as long each time, an hour at most, give or take a quarter", () => {
    assert.deepEqual(
      [1, 2, 3, 4].map((attempts) => mailRetryDelayMs(attempts, 0.5)),
      [10_000, 20_000, 40_000, 80_000],
    );
    for (const attempts of [10, 100, 100_000])
      assert.equal(mailRetryDelayMs(attempts, 0.5), LIMITS.mail.retryMaxMs);
    assert.deepEqual([mailRetryDelayMs(1, 0), mailRetryDelayMs(1, 1)], [7_500, 12_500]);
  });
});
