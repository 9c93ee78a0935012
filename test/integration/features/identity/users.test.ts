import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { upsertUser } from "../../../../src/features/identity/account-sql.ts";
import { findSignIn, findUserByEmail, insertUser } from "../../../../src/features/identity/users.ts";
import { newId } from "../../../../src/platform/ids.ts";
import { migrate } from "../../../../src/stores/postgres/migrate.ts";
import { createPostgres } from "../../../../src/stores/postgres/postgres.ts";
import { openDatabase, silentLog } from "../../../support/store.ts";

describe("addresses of accounts", () => {
  for (const locale of ["C", "C.utf8"]) {
    it(`are one in any case of A to Z, and no others are, in a database of the locale ${locale}`, async (t) => {
      const { sql: admin, url } = await openDatabase(t);
      const name = `${new URL(url).pathname.slice(1)}_${locale.replace(/\W/g, "").toLowerCase()}`;
      await admin.unsafe(
        `create database ${name} template template0 encoding 'utf8' lc_ctype '${locale}' lc_collate '${locale}'`,
      );
      const own = new URL(url);
      own.pathname = `/${name}`;
      const sql = createPostgres({ url: own.href, maxConnections: 2, applicationName: "rcpt-test" });
      try {
        await migrate(sql, silentLog);
        const insert = (email: string) =>
          sql.begin((tx) => insertUser(tx, { id: newId("usr"), email, passwordHash: null }));
        const emails = [
          "Owner@example.com",
          "\u00c9mil@example.com",
          "\u0130@example.com",
          "\u212a@example.com",
        ];
        for (const email of emails) assert.equal(await insert(email), true, email);
        assert.equal(await insert("oWNER@EXAMPLE.COM"), false);
        for (const other of [
          "\u00e9mil@example.com",
          "i@example.com",
          "i\u0307@example.com",
          "k@example.com",
        ]) {
          assert.equal(await findUserByEmail(sql, other), null, other);
          assert.equal(await findSignIn(sql, other, null), null, other);
          assert.equal(await insert(other), true, other);
        }
        const owner = await findUserByEmail(sql, "OWNER@example.com");
        assert.equal(owner?.email, "Owner@example.com");
        assert.equal(await upsertUser(sql, newId("usr"), "owner@EXAMPLE.com"), owner?.id);
      } finally {
        await sql.end({ timeout: 1 });
        await admin.unsafe(`drop database ${name} with (force)`);
      }
    });
  }
});
