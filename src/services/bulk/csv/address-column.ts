import { parseAddress } from "../../../check/address.ts";
import { addressIn } from "./cell-address.ts";
import { toText } from "./field.ts";

/**
 * What columns of addresses are called, without case, spaces, marks and punctuation: as mail programs, spreadsheets and
 * CRMs export them.
 */
const NAMES = new Set(
  `email mail emailaddress mailaddress emailaddresses emails mailadress emailid emailaddr useremail contactemail
  customeremail primaryemail workemail personalemail emailprimary primaryemailaddress email1 email1address email1value
  emailaddress1 subscriberemail recipientemail billingemail
  emailadresse mailadresse emailadressen emailadres eposta epost epostadress epostadresse epostaadresi sahkoposti
  sahkopostiosoite courriel adressecourriel adresseemail adressemail adresseelectronique correo correoelectronico
  direcciondecorreo direcciondecorreoelectronico emailcorreo correio correioeletronico enderecodeemail indirizzoemail
  indirizzomail postaelettronica adresemail adresemailowy adrespocztyelektronicznej emailcim emailova
  emailovaadresa adresadeemail почта электроннаяпочта адресэлектроннойпочты имейл емейл елпочта електроннапошта
  пошта メール メールアドレス eメール 電子メール 邮箱 电子邮箱 电子邮件 邮件地址 电子邮件地址 郵箱 電子郵件 電子信箱
  이메일 이메일주소 البريدالإلكتروني ईमेल อีเมล ηλεκτρονικοταχυδρομειο`
    .split(/\s+/)
    .map(normaliseName),
);

/** Longer than any of the names with its spaces, in bytes. */
const NAME_CHARS = 200;

/** Longer than any address (RFC 5321 §4.5.3.1.3) with what may stand round it. */
const VALUE_CHARS = 400;

/** Spaces may stand round it. Of bytes: no `\s`, which would take the byte A0 of UTF-8 for a space. */
const ADDRESS =
  /^[\t ]*[^\x00-\x20@<>()[\],;:"]{1,128}@[^\x00-\x20@<>()[\],;:"]+\.[^\x00-\x20@<>()[\],;:".]{2,}[\t ]*$/;

/** `Jane Doe <jane@example.com>` and the like: a column of these is one of addresses if there is none that is better. */
const HOLDS_ADDRESS = /[^\x00-\x20@<>(),;:"]@[^\x00-\x20@<>(),;:".]+\.[^\x00-\x20@<>(),;:"]/;

/** Of the filled values of a column that is taken for addresses by what it holds, at least so many look like some. */
const CONTENT_SHARE = 0.25;

/**
 * How surely the value is an address, of 1: one within a wrapping (cell-address.ts) counts half, such that the column beside
 * it with the bare address is preferred.
 */
export function addressWeight(value: string): 0 | 0.5 | 1 {
  if (value.length > VALUE_CHARS || !value.includes("@")) return 0;
  if (ADDRESS.test(value)) return 1;
  const text = toText(value);
  const address = addressIn(text);
  return address !== text && parseAddress(address).ok ? 0.5 : 0;
}

export function looksLikeAddress(value: string): boolean {
  return addressWeight(value) > 0;
}

/** A column's name as names are compared: "E-Mail Adresse" and "email_adresse" are one. */
export function normaliseName(name: string): string {
  return name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** The name means addresses, read as UTF-8 or, in old exports, as Latin-1. */
export function namesAddresses(name: string): boolean {
  if (name.length > NAME_CHARS) return false;
  return NAMES.has(normaliseName(toText(name))) || NAMES.has(normaliseName(name));
}

/** What a sample of a column holds, as shares of its values that are not empty. */
interface ColumnContent {
  column: number;
  /** Their weights, and what they are of its values. */
  addresses: number;
  share: number;
  nearly: number;
}

/** The column of addresses, from 0, by its name and by what the rows hold; undefined: there is none. */
export function findAddressColumn(
  header: readonly string[] | null,
  rows: readonly string[][],
): number | undefined {
  const columns = columnContents(rows, header?.length ?? 0);
  const named = columns.filter(({ column }) => namesAddresses(header?.[column] ?? ""));
  const best = mostAddresses(named);
  if (best !== undefined && (best.addresses > 0 || rows.length === 0)) return best.column;
  const filled = columns.filter(({ share }) => share >= CONTENT_SHARE);
  const found = mostAddresses(filled) ?? best ?? columns.find(({ nearly }) => nearly >= 0.5);
  return found?.column;
}

/** The first of those with the most values that look like addresses. */
function mostAddresses(columns: readonly ColumnContent[]): ColumnContent | undefined {
  let best = columns[0];
  for (const column of columns) if (best !== undefined && column.addresses > best.addresses) best = column;
  return best;
}

function columnContents(rows: readonly string[][], atLeast: number): ColumnContent[] {
  const width = rows.reduce((most, { length }) => Math.max(most, length), atLeast);
  return Array.from({ length: width }, (_, column) => {
    let filled = 0;
    let addresses = 0;
    let nearly = 0;
    for (const row of rows) {
      const value = row[column] ?? "";
      if (value.trim() === "") continue;
      filled += 1;
      const weight = addressWeight(value);
      addresses += weight;
      if (weight === 0.5) nearly += 0.5;
      if (weight === 0 && HOLDS_ADDRESS.test(value.slice(0, VALUE_CHARS))) nearly += 1;
    }
    const of = Math.max(1, filled);
    return { column, addresses, share: addresses / of, nearly: (addresses + nearly) / of };
  });
}
