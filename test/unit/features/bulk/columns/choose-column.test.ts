import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  blank,
  type Cells,
  chosen,
  contact,
  mostly,
  name,
  owner,
  sparse,
} from "../../../../support/column-tables.ts";

const PAIRS = [
  ["Business Email", "Owner"],
  ["Person - Email - Work", "Person - Owner"],
  ["Email (required)", "Created By"],
  ["Email_Address__c", "Owner.Email"],
  ["properties.email", "hubspot_owner"],
  ["Kontakt E-Mail", "Betreuer"],
  ["Adresse mail du client", "Commercial"],
  ["Guest email", "Organizer Email"],
  ["Work Email", "Account Owner"],
  ["E-postadress", "Säljare"],
  ["E-Mail (privat)", "Betreuer"],
  ["Correo", "Correo del asesor"],
  ["Email Address (Work)", "Owner Email"],
  ["电子邮箱地址", "负责人"],
  ["メールアドレス", "担当者メール"],
  ["Электронная почта", "Ответственный"],
  // Nothing is known of these words.
  ["Xyzzy", "Plugh"],
  ["Xyzzy", "Owner"],
  ["Email", "Plugh"],
] as const;

describe("contacts and three owners", () => {
  for (const [mail, by] of PAIRS)
    it(`${mail} | ${by}`, () => {
      const contacts = mostly(contact, 7);
      assert.equal(
        chosen([
          ["Name", name],
          [mail, contacts],
          [by, owner],
        ]),
        mail,
      );
      assert.equal(
        chosen([
          [by, owner],
          ["Name", name],
          [mail, contacts],
        ]),
        mail,
      );
      // Nearly all of the contacts' are blank.
      assert.equal(
        chosen([
          [by, owner],
          [mail, sparse(contact, 20)],
        ]),
        mail,
      );
      // Beyond the sample there may be more.
      assert.equal(
        chosen(
          [
            [by, owner],
            [mail, contacts],
          ],
          300,
          { whole: false },
        ),
        mail,
      );
    });

  for (const [mail, by] of PAIRS.filter(([mail, by]) => mail !== "Xyzzy" && by !== "Plugh"))
    it(`${mail} | ${by}, of two rows`, () => {
      const contacts: Cells = (row) => (row === 0 ? contact(row) : "");
      assert.equal(
        chosen(
          [
            ["Name", name],
            [mail, contacts],
            [by, () => "owner@corp.example"],
          ],
          2,
        ),
        mail,
      );
      assert.equal(
        chosen(
          [
            [by, () => "owner@corp.example"],
            [mail, contacts],
          ],
          4,
        ),
        mail,
      );
      assert.equal(
        chosen(
          [
            [by, owner],
            [mail, blank],
          ],
          5,
        ),
        mail,
      );
    });
});

describe("a table without addresses", () => {
  it("is read by the name of a column that is empty, or holds something else", () => {
    assert.equal(
      chosen(
        [
          ["Email", blank],
          ["Name", name],
        ],
        6,
      ),
      "Email",
    );
    assert.equal(
      chosen(
        [
          ["Name", name],
          ["email", name],
        ],
        6,
      ),
      "email",
    );
    assert.equal(
      chosen(
        [
          ["Name", name],
          ["email", name],
        ],
        0,
      ),
      "email",
    );
  });

  it("is none without such a name", () => {
    assert.equal(
      chosen([
        ["Name", name],
        ["Phone", name],
      ]),
      "none",
    );
    assert.equal(chosen([]), "none");
  });
});
