import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDoubtful, phraseOf } from "../../../../src/verification/classify/doubt.ts";
import { readStatements } from "../../../../src/verification/classify/grammar.ts";
import { ACQUITTING } from "../../../../src/verification/classify/lexicon/acquitting.ts";
import { BY_LANGUAGE } from "../../../../src/verification/classify/lexicon/by-language.ts";
import { ABSENT, SHUT } from "../../../../src/verification/classify/lexicon/states.ts";
import { spokenOf } from "../../../../src/verification/classify/spoken.ts";

/** A word of each language that the lexicon has for a mailbox that is not there, or shut, and a sentence with it. */
const CONDEMNED: Readonly<Record<string, readonly [word: string, sentence: string]>> = {
  en: ["unknown", "user unknown"],
  de: ["unbekannt", "Empfänger unbekannt"],
  fr: ["inconnu", "utilisateur inconnu"],
  es: ["desconocido", "usuario desconocido"],
  pt: ["desconhecido", "usuário desconhecido"],
  ca: ["desconegut", "usuari desconegut"],
  it: ["sconosciuto", "utente sconosciuto"],
  ro: ["necunoscut", "utilizator necunoscut"],
  nl: ["onbekend", "gebruiker onbekend"],
  sv: ["okänd", "användare okänd"],
  da: ["ukendt", "bruger ukendt"],
  no: ["ukjent", "bruker ukjent"],
  fi: ["tuntematon", "tuntematon käyttäjä"],
  pl: ["nieznany", "nieznany użytkownik"],
  cs: ["neznámý", "neznámý uživatel"],
  sk: ["neexistujúci", "neexistujúci používateľ"],
  hr: ["nepoznat", "nepoznat korisnik"],
  sl: ["ne obstaja", "uporabnik ne obstaja"],
  hu: ["ismeretlen", "ismeretlen felhasználó"],
  tr: ["bulunamadı", "kullanıcı bulunamadı"],
  lt: ["nežinomas", "nežinomas vartotojas"],
  lv: ["neeksistē", "lietotājs neeksistē"],
  et: ["tundmatu", "tundmatu kasutaja"],
  el: ["άγνωστος", "άγνωστος χρήστης"],
  ru: ["неизвестен", "пользователь неизвестен"],
  uk: ["не знайдено", "користувача не знайдено"],
  bg: ["непознат", "непознат потребител"],
  zh: ["不存在", "用户不存在"],
  ja: ["存在しません", "ユーザーは存在しません"],
  vi: ["không tồn tại", "người dùng không tồn tại"],
  id: ["tidak ditemukan", "pengguna tidak ditemukan"],
  ko: ["존재하지 않습니다", "사용자가 존재하지 않습니다"],
};

const SAID = Object.values(BY_LANGUAGE).flatMap(({ absent = "", shut = "" }) => [absent, shut]);

const KNOWN = new Set(
  [...ABSENT.flatMap(({ terms }) => terms), ...SHUT.flatMap(({ terms }) => terms), ...SAID]
    .flatMap((line) => line.split(","))
    .map((term) => term.trim()),
);

const termsOf = (language: string): string[] =>
  Object.values(ACQUITTING[language] ?? {}).flatMap((terms: string) =>
    terms.split(",").map((term) => term.trim()),
  );

describe("words that acquit the recipient", () => {
  it("exist in every language that has words for a missing mailbox", () => {
    assert.deepEqual(Object.keys(ACQUITTING).sort(), Object.keys(CONDEMNED).sort());
    for (const language of Object.keys(BY_LANGUAGE)) assert.ok(language in ACQUITTING, language);
    for (const [language, [word]] of Object.entries(CONDEMNED))
      assert.ok(KNOWN.has(word), `${language}: ${word}`);
    for (const [language, { passing, proof, asker, alternative }] of Object.entries(ACQUITTING))
      for (const terms of [passing, proof, asker, alternative])
        assert.ok(
          terms.split(",").every((term) => phraseOf(term.trim()).trim() !== ""),
          language,
        );
  });

  for (const [language, [, sentence]] of Object.entries(CONDEMNED))
    it(`take it back in ${language}: ${sentence}`, () => {
      assert.deepEqual([...readStatements(sentence.toLowerCase()).statements], ["absent"]);
      for (const term of termsOf(language)) {
        const text = `${sentence}, ${term.replace("~", "")}`;
        assert.ok(isDoubtful(spokenOf(text)), text);
        assert.deepEqual([...readStatements(text).statements], [], text);
      }
    });
});

describe("what is shut", () => {
  const shut = (prose: string) => readStatements(prose).statements.has("shut");
  for (const prose of [
    "mailbox disabled",
    "this account has been disabled due to inactivity",
    "mailbox has been disabled by the administrator",
    "your account has expired, the recipient account has expired",
    "compte a été bloqué",
    "*@* is a deactivated mailbox",
  ])
    it(`is the mailbox: ${prose}`, () => assert.ok(shut(prose)));
  for (const prose of [
    "recipient disabled autoreplies",
    "account disabled plain smtp",
    "empfänger hat sie gesperrt",
    "der benutzer hat den empfang gesperrt",
    "le destinataire a bloqué l'accès",
    "customer closed port",
    "this user's plan expired for third-party mail",
    "mail for recipient frozen",
  ])
    it(`is something else: ${prose}`, () => assert.ok(!shut(prose)));
});
