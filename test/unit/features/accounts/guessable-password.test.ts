import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { guessableFault, refuseGuessable } from "../../../../src/features/accounts/guessable-password.ts";

const context = { email: "jane.doe+news@quarterdeck.example", teamNames: ["Blue Herons GmbH"] };

async function refused(password: string): Promise<boolean> {
  return (await guessableFault(password, context)) !== null;
}

describe("a new password is refused that is", () => {
  const kinds: [string, string[]][] = [
    ["common", ["password1234", "123456789012", "qwertyuiop12", "1q2w3e4r5t6y"]],
    ["common in another case or width", ["Password1234", "QWERTYUIOP12", "ｐａｓｓｗｏｒｄ１２３４"]],
    [
      "common with a short or a known tail",
      ["Password123!", "letmein12345", "abc12312345!", "iloveyou2024", "password 123456!"],
    ],
    ["a common one repeated", ["passwordpassword", "letmeinletmein", "dragondragondragon"]],
    [
      "a run of characters",
      ["aaaaaaaaaaaa", "abcdefghijklmn", "zyxwvutsrqpon", "567890123456", "\u{1f40e}".repeat(12)],
    ],
    ["a few characters repeated", ["abababababab", "xyz1xyz1xyz1", "!?!?!?!?!?!?"]],
    [
      "the address, its local part or its domain",
      [
        "jane.doe+news@quarterdeck.example",
        "JANE.DOE+NEWS@quarterdeck.example",
        "jane.doenews",
        "jane.doe12345",
        "jane_doe2026!",
        "quarterdeck.example",
        "quarterdeck1",
      ],
    ],
    [
      "the team or the service",
      ["Blue Herons GmbH", "blueheronsgmbh", "blue-herons-gmbh1", "rcptrcptrcpt", "rcpt12345678"],
    ],
  ];
  for (const [kind, passwords] of kinds)
    it(kind, async () => {
      for (const password of passwords) assert.equal(await refused(password), true, password);
    });
});

describe("a new password is accepted that", () => {
  it("merely contains a common word or a name", async () => {
    for (const password of [
      "correct horse battery",
      "my password is a secret one",
      "jane.doe walks her dogs",
      "blue herons at dawn",
      "kq7vmzp2xw9t",
      "dragon48:29-71",
      "aaaaaaaaaaab",
      "日本語で書いた長い合言葉です",
    ])
      assert.equal(await refused(password), false, password);
  });

  it(`is as long as may be, soon: ${LIMITS.portal.passwordCharsMax} characters, 64 and more`, async () => {
    for (const length of [64, LIMITS.portal.passwordCharsMax])
      assert.equal(await refused(`${"qm3x ".repeat(length).slice(0, length - 1)}7`), false);
  });

  it("is for an address and a team without a word of any length", async () => {
    const fault = await guessableFault("kq7vmzp2xw9t", { email: "a@b.c", teamNames: ["", "!!", "x"] });
    assert.equal(fault, null);
  });
});

it("the refusal says what is wrong with which field, and does not quote it", async () => {
  await assert.rejects(refuseGuessable("password1234", context, "new_password"), (error: Error) => {
    assert.match(error.message, /new_password \(body\) is too easily guessed/);
    assert.doesNotMatch(error.message, /password1234/);
    assert.equal((error as Error & { code: string }).code, "validation_failed");
    return true;
  });
});
