import { EMAIL_WORDS } from "./email-words.ts";
import { WordList, wordsOf } from "./header-text.ts";
import { CONTACT_WORDS, FILLER_WORDS, PRIMARY_WORDS, SECONDARY_WORDS } from "./kind-words.ts";
import { ATTRIBUTE_WORDS, OWNER_WORDS, OWNER_WORDS_ALONE } from "./role-words.ts";

/**
 * The meaning of a column's name. `primary`: the first of several addresses; `email`: just an address; `contact`: an
 * address of the row's contact; `qualified`: an address of some kind ("Work Email"); `secondary`: a further one ("E-mail
 * 2"); `attribute`: a property of an address or a message ("Email Opt In"); `owner`: the person who looks after the row,
 * with or without the word e-mail; `none`: any other meaning.
 */
export type HeaderMeaning =
  | "primary"
  | "email"
  | "contact"
  | "qualified"
  | "secondary"
  | "attribute"
  | "owner"
  | "none";

const emails = new WordList([EMAIL_WORDS]);
const owners = new WordList([OWNER_WORDS]);
const ownersAlone = new WordList([OWNER_WORDS_ALONE]);
const attributes = new WordList([ATTRIBUTE_WORDS]);
const contacts = new WordList([CONTACT_WORDS]);
const primaries = new WordList([PRIMARY_WORDS]);
const secondaries = new WordList([SECONDARY_WORDS]);
const fillers = new WordList([FILLER_WORDS]);
const allLists = [owners, ownersAlone, attributes, contacts, primaries, secondaries, fillers];

/** Stems for e-mail within a longer word: "kundenemail", "epostadress", "usermail". The longest first. */
const CORES =
  /e?mail|sahkoposti|courriel|correo|emejl|imejl|mejl|eposta?|epasts?|имейл|емейл|емайл|мейл|почт|пошт|ταχυδρομ/;

/** Words of letters on paper, of telephones and of programs that have "mail" in them. */
const OTHER_MAIL =
  /^(?:mailing|mailer|mailed|mailbox|mailchimp|mailgun|mailerlite|mailjet|voicemail|airmail|directmail|snailmail)/;

/** A word in its parts, where it holds one for e-mail: then that is "email". */
function partsOf(word: string): string[] {
  if (OTHER_MAIL.test(word)) return [word];
  const core = CORES.exec(word);
  if (core === null) return [word];
  const before = word.slice(0, core.index);
  const behind = word.slice(core.index + core[0].length);
  // "mail" alone is part of many words: what follows it has to be one that is known.
  if (core[0] === "mail" && behind !== "" && !allLists.some((list) => list.has(behind))) return [word];
  return [before, "email", behind].filter((part) => part !== "");
}

function isFurther(words: readonly string[]): boolean {
  return secondaries.foundIn(words) || words.some((word) => /^(?:0?[2-9]|1\d)$/.test(word));
}

export function headerMeaning(name: string): HeaderMeaning {
  const words = wordsOf(name);
  if (words.length === 0) return "none";
  const rest = emails.without(emails.without(words).flatMap(partsOf));
  const saysEmail = rest.join(" ") !== words.join(" ");
  if (owners.foundWithin(rest)) return "owner";
  if (!saysEmail) {
    if (ownersAlone.foundIn(rest)) return "owner";
    return "none";
  }
  if (attributes.foundIn(rest)) return "attribute";
  if (isFurther(rest)) return "secondary";
  if (primaries.foundIn(rest)) return "primary";
  const qualifiers = fillers.without(rest);
  if (qualifiers.length === 0) return "email";
  return contacts.foundIn(qualifiers) ? "contact" : "qualified";
}

/** The name is one of a column of addresses. */
export function namesAddresses(name: string): boolean {
  const meaning = headerMeaning(name);
  return meaning !== "none" && meaning !== "attribute" && meaning !== "owner";
}
