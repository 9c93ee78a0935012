import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decoded } from "../../../../src/verification/classify/decoding.ts";
import { spokenOf } from "../../../../src/verification/classify/spoken.ts";

const latin1 = (bytes: Uint8Array | number[]) => Buffer.from(bytes).toString("latin1");

const ENCODED: [base64: string, text: string][] = [
  // iso8859-2
  ["U2tyenlua2EgcGWzbmE=", "Skrzynka pełna"],
  // cp1250
  ["Vb95dGtvd25payBuaWUgaXN0bmllamU=", "Użytkownik nie istnieje"],
  // iso8859-2
  ["Vb5pdmF0ZWwgbmVleGlzdHVqZQ==", "Uživatel neexistuje"],
  // iso8859-2
  ["SXNtZXJldGxlbiBmZWxoYXN6buFs8w==", "Ismeretlen felhasználó"],
  // cp1254
  ["S3VsbGFu/WP9IGJ1bHVuYW1hZP0=", "Kullanıcı bulunamadı"],
  // cp1253
  ["zyD38d7z9OfyIOTl7SD18Nzx9+Xp", "Ο χρήστης δεν υπάρχει"],
  // koi8-u
  ["88vSyc7Yy8EgzsUgptPO1aQ=", "Скринька не існує"],
  // iso8859-5
  ["z+nY2iDd1SDd0NnU1d0=", "Ящик не найден"],
  // shift_jis
  ["g4aBW4NVgVuCqoypgsKCqYLogtyCuYLx", "ユーザーが見つかりません"],
  // euc_jp
  ["peGhvKXrpdylw6WvpbmkrKSkpMOk0aSkpMekuQ==", "メールボックスがいっぱいです"],
  // big5
  ["pqyl86RIpKOmc6Zi", "收件人不存在"],
  // gbk
  ["ytW8/sjLsru05tTa", "收件人不存在"],
  // euc_kr
  ["u+e/68DauKYgw6PAuyC89iC++L3AtM+02Q==", "사용자를 찾을 수 없습니다"],
  // latin1
  ["Ym/udGUgcGxlaW5l", "boîte pleine"],
];

describe("spoken replies", () => {
  it("are words with single spaces, pauses and ends", () => {
    const cases: [prose: string, spoken: string][] = [
      ["User  unknown", " user unknown "],
      ["<*@*>... User doesn't exist.", " @ user doesnt exist . "],
      ["Rejected: no such user; see https://example.com/unknown", " rejected , no such user , see "],
      ["RESOLVER.ADR.RecipNotFound", " resolver adr recipnotfound "],
      ["non-existent - e-mail", " non existent , e mail "],
      ["L'utilisateur n'existe pas", " l utilisateur n existe pas "],
      ["dell'utente", " dell utente "],
      ["Empfänger Größe NÃO", " empfanger grosse nao "],
      ["", " "],
    ];
    for (const [prose, spoken] of cases) assert.equal(spokenOf(prose), spoken);
  });

  it("are read in the encoding that their bytes are of", () => {
    assert.equal(decoded("plain"), "plain");
    assert.equal(decoded(latin1(Buffer.from("Empfänger"))), "Empfänger");
    assert.equal(decoded(latin1(Buffer.from("Empfänger", "latin1"))), "Empfänger");
    const koi8 = [0xf0, 0xcf, 0xcc, 0xd8, 0xda, 0xcf, 0xd7, 0xc1, 0xd4, 0xc5, 0xcc, 0xd8];
    assert.equal(decoded(latin1(koi8)), "Пользователь");
    const windows = [0xcf, 0xee, 0xeb, 0xfc, 0xe7, 0xee, 0xe2, 0xe0, 0xf2, 0xe5, 0xeb, 0xfc];
    assert.equal(decoded(latin1(windows)), "Пользователь");
    assert.equal(decoded(latin1([0xd3, 0xc3, 0xbb, 0xa7, 0xb2, 0xbb, 0xb4, 0xe6, 0xd4, 0xda])), "用户不存在");
  });

  it("are read in other character sets by the words that they hold then", () => {
    for (const [base64, text] of ENCODED) assert.equal(decoded(latin1(Buffer.from(base64, "base64"))), text);
  });

  it("that were cut within a character keep the rest", () => {
    assert.equal(decoded(latin1(Buffer.from("не найден").subarray(0, -1))), "не найде");
  });
});
