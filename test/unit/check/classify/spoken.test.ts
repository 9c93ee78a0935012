import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decoded, spokenOf } from "../../../../src/check/classify/spoken.ts";

const latin1 = (bytes: Uint8Array | number[]) => Buffer.from(bytes).toString("latin1");

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

  it("that were cut within a character keep the rest", () => {
    assert.equal(decoded(latin1(Buffer.from("не найден").subarray(0, -1))), "не найде");
  });
});
