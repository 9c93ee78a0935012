import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { detectEncoding } from "../../../../../../src/features/bulk/csv/encoding/charset.ts";
import { textIn } from "../../../../../../src/features/bulk/csv/field.ts";
import { analyseList } from "../../../../../support/analysed-list.ts";

const list = (cells: string) =>
  Buffer.from(`id,email,name\n1,a@example.com,${cells}\n2,b@example.com,x\n`, "latin1");

describe("the encoding of a list", () => {
  const lists: [string, string, string | undefined, string][] = [
    ["Japanese", "\x8e\x52\x93\x63\x91\xbe\x98\x59", "shift_jis", "山田太郎"],
    ["Korean", "\xb1\xe8\xc3\xb6\xbc\xf6,\xb9\xda\xbf\xb5\xc8\xf1", "euc-kr", "김철수,박영희"],
    ["simplified Chinese", "\xd5\xc5\xce\xb0,\xcd\xf5\xb7\xbc", "gbk", "张伟,王芳"],
    ["traditional Chinese", "\xb1\x69\xb0\xb6,\xa4\xfd\xaa\xda", "big5", "張偉,王芳"],
    ["Russian of Windows", "\xc8\xe2\xe0\xed,\xcf\xe5\xf2\xf0\xee\xe2", "windows-1251", "Иван,Петров"],
    ["Russian of Unix", "\xe9\xd7\xc1\xce,\xf0\xc5\xd4\xd2\xcf\xd7", "koi8-r", "Иван,Петров"],
    ["German", "J\xf6rg M\xfcller,Stra\xdfe,\xc4nne Gr\xfc\xdfe", undefined, ""],
    ["French", "Fran\xe7ois,Zo\xe9,No\xebl d\x92\xe9t\xe9,\xe0 c\xf4t\xe9", undefined, ""],
    ["UTF-8", "J\xc3\xb6rg", undefined, ""],
    ["ASCII", "Bob", undefined, ""],
  ];
  for (const [name, bytes, encoding, text] of lists) {
    it(`is found: ${name}`, () => {
      assert.equal(detectEncoding(list(bytes)), encoding);
      if (encoding !== undefined) assert.equal(textIn(bytes, encoding), text);
    });
  }

  it("is named, and its header read: sjis-space-header", async () => {
    const url = new URL("../../../../../fixtures/lists/sjis-space-header", import.meta.url);
    const { found } = await analyseList(readFileSync(url));
    assert.ok(found.ok, JSON.stringify(found));
    assert.deepEqual([found.rows, found.malformed], [2, 0]);
    assert.equal(found.columns.encoding, "shift_jis");
    assert.equal(found.columns.has_header, true);
    assert.equal(found.columns.email.name, "メール　ア");
    assert.equal(found.layout.header?.[0], "\x83\x81\x81[\x83\x8b\x81@\x83A");
  });

  it("is what is asked for", async () => {
    const { found } = await analyseList(list("\xb3\xf3"), { charset: "iso-8859-2" });
    assert.ok(found.ok);
    assert.equal(found.columns.encoding, "iso-8859-2");
    assert.equal(textIn("\xb3\xf3", found.layout.encoding), "łó");
  });
});
