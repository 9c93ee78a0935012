import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/core/limits.ts";
import { createTestKeys } from "../../../../src/services/verify/test-keys.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const keys = createTestKeys({ clock: createFakeClock(), slowMs: 0, isPromoted: () => false });
const overlay = { isBlocked: () => false, isDisposable: () => false };

async function shownOf(email: string): Promise<string> {
  return (await keys.answer(email, false, { probing: true, overlay })).email;
}

describe("the email of a result", () => {
  const { emailBytes } = LIMITS.http;

  it("is as it was written, be it an address or not", async () => {
    for (const email of ["valid@example.com", "no address", "", "a\u0000b", "x".repeat(emailBytes)])
      assert.equal(await shownOf(email), email);
  });

  it("is the beginning of what is longer than any address, in whole characters", async () => {
    assert.equal(await shownOf("x".repeat(1_048_576)), "x".repeat(emailBytes));
    assert.equal(await shownOf(`x${"ä".repeat(100_000)}`), `x${"ä".repeat((emailBytes - 2) / 2)}`);
    assert.equal(await shownOf(`xx${"😀".repeat(100_000)}`), `xx${"😀".repeat(emailBytes / 4 - 1)}`);
    assert.equal(await shownOf("\u0000".repeat(70_000)), "\u0000".repeat(emailBytes));
  });
});
