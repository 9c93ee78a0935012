import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import {
  findRegistration,
  insertRegistration,
  setRegistrationToken,
  takeRegistration,
} from "../../../../src/features/accounts/registrations.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { openDatabase } from "../../../support/store.ts";

const ROUNDS = 30;
const AT_ONCE = 4;

describe("the registrations of one address", () => {
  it("confirmed at once by a token of each are used up by one, and wait for each other in no circle", async (t) => {
    const { sql } = await openDatabase(t);
    const note = async () => {
      const row = { id: newId("req"), email: "someone@example.com", passwordHash: "hash", teamName: "team" };
      const hash = randomBytes(32);
      assert.equal(await insertRegistration(sql, row), true);
      await sql.begin((tx) => setRegistrationToken(tx, row.id, hash));
      return (await findRegistration(sql, hash)) ?? assert.fail("it is not there");
    };
    for (let round = 0; round < ROUNDS; round++) {
      const rows = await Promise.all(Array.from({ length: AT_ONCE }, note));
      const taken = await Promise.all(rows.map((row) => sql.begin((tx) => takeRegistration(tx, row))));
      assert.equal(taken.filter(Boolean).length, 1);
    }
  });
});
