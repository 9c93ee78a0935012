import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPasted } from "../../../portal/src/pages/lists/new/pasted.ts";
import { SubmissionKeys } from "../../../portal/src/pages/lists/new/submission-keys.ts";

const addressesIn = (text: string): string[] => {
  const { addresses, isTable } = readPasted(text);
  assert.equal(isTable, false, text);
  return addresses;
};

describe("pasted text", () => {
  it("has an address on each line, or several with a separator between them", () => {
    const text = "a@x.test\r\n\n  Doe, Jane <b@x.test> \nc@x.test; d@x.test,e@x.test\tf@x.test\nnothing";
    assert.deepEqual(addressesIn(text), [
      "a@x.test",
      "Doe, Jane <b@x.test>",
      "c@x.test",
      "d@x.test",
      "e@x.test",
      "f@x.test",
      "nothing",
    ]);
    assert.deepEqual(addressesIn(" \n\n"), []);
    assert.deepEqual(addressesIn("a@x.test,\nb@x.test;"), ["a@x.test", "b@x.test"]);
    assert.deepEqual(addressesIn("Jane a@x.test, Bob b@x.test"), ["a@x.test", "b@x.test"]);
  });

  it("has the recipients of a mail, whatever their names hold", () => {
    const recipients = 'Doe, Jane <a@x.test>; "Roe, Rick" <b@x.test>, c@x.test';
    assert.deepEqual(addressesIn(recipients), ["<a@x.test>", "<b@x.test>", "c@x.test"]);
    assert.deepEqual(addressesIn("Jane <a@x.test>\nBob <b@x.test>,"), ["Jane <a@x.test>", "Bob <b@x.test>,"]);
  });

  const TABLES = [
    "j@x.test,Jane",
    "1,Jane,j@x.test",
    "Jane Doe\tj@x.test",
    '"j@x.test","Jane"',
    "a@x.test,b@x.test,Jane",
    "1,Jane <j@x.test>,Berlin",
    "Email,Name\na@x.test,b@x.test",
    "a@x.test\nb@x.test;Bob",
    "| a@x.test | Jane |",
    "email\na@x.test;Ann",
  ];
  for (const text of TABLES)
    it(`is a table when it has other cells: ${JSON.stringify(text)}`, () => {
      assert.equal(readPasted(text).isTable, true);
    });

  it("has no address in a header above addresses alone, and is no table by it", () => {
    const read = (text: string) => readPasted(text);
    assert.deepEqual(read("email\na@x.test"), { addresses: ["a@x.test"], isTable: false, header: "email" });
    assert.deepEqual(read('"E-mail address"\na@x.test\nb@x.test, c@x.test'), {
      addresses: ["a@x.test", "b@x.test", "c@x.test"],
      isTable: false,
      header: '"E-mail address"',
    });
    assert.equal(read("email\nName,a@x.test").header, null);
  });

  it("is no table because of an entry that is no address", () => {
    for (const text of ["janeexample.com\na@x.test", "nothing", "email", "a@x.test\nemail"])
      assert.equal(readPasted(text).isTable, false, text);
  });
});

describe("keys of submissions", () => {
  it("are the same for each attempt at one body, also when another was tried in between", () => {
    const keys = new SubmissionKeys();
    const first = keys.keyOf("a");
    const other = keys.keyOf("b");
    assert.notEqual(other, first);
    assert.deepEqual(
      ["a", "b"].map((body) => keys.keyOf(body)),
      [first, other],
    );
  });

  it("are new once the body has become a job", () => {
    const keys = new SubmissionKeys();
    const first = keys.keyOf("a");
    keys.forget("a");
    assert.notEqual(keys.keyOf("a"), first);
  });
});
