import { spokenOf } from "./spoken.ts";

/**
 * Words of a reply that refuses a recipient without a reason: the recipient, the refusal, and the phrases around them. Any
 * other word may be a reason of its own, in words that are not foreseen here.
 */
const SAYS_NO_REASON = new Set(
  [
    "a an and are as at be been by could for from has have here i id in is it its mail no not of on or our please",
    "rcpt sorry that the this to us was we with",
    "account accounts address addresses addressee alias customer delivery destination email emailaddress envelope inbox local",
    "mailbox mailboxes name person recipient recipients user users username host server system site gateway virtual",
    "rejected refused reject rejecting refusing declined unaccepted undeliverable undelivered unavailable available unallocated",
    "unassigned unused vacant error failed failure permanent permanently fatal bad incorrect wrong action requested taken",
    "return returned bounce bounced code status sid cannot can find does exist exists existing found gone non deliver delivered check correct",
    "try again spelling typo typing gsmtp esmtp smtp unable able",
    "adresse adresses adresa adres destinataire destinatario destinatari empfanger empfaenger empfangeradresse benutzer",
    "postfach konto utilisateur compte boite usuario usuari cuenta buzon conta utente casella gebruiker mottagare",
    "unknown invalid unk nouser notfound recipnotfound exrecipnotfound recipientnotfound usernotfound resolver adr invalidinsmtp",
    "dest destin recip addr usr mbx possible",
    "unbekannt unbekannte inconnu inconnue inexistant inexistante sconosciuto sconosciuta inesistente desconocido inexistente",
    "desconhecido onbekend nieznany neznamy ukendt ukjent okand tuntematon ismeretlen necunoscut",
    "explanation visit further information details see",
    "abgelehnt verweigert refuse refusee rejete rejetee rechazado rechazada rifiutato rifiutata recusado geweigerd avvisad",
    "incorrecte incorrecto du de des der die das la le les el un une est ist wurde",
  ].flatMap((line) => line.split(" ")),
);

/** A name of two labels: the longer ones are gone from the prose. */
const SHORT_HOST = /(?<![\w./-])[a-z0-9_-]{2,63}\.[a-z]{2,6}(?![\w/-]|\.\w)/g;
/** An address in the reply, mostly ours. */
const IPV4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/;
/** `sid=XYZ`: a trace, no word. */
const TRACE = /\b\w{1,16}=\S+/g;
/** Exchange Online's text for every unknown recipient. The rules decide whether it is believed. */
const STOCK = "recipient address rejected: access denied";
/** A name in brackets or braces. */
const NAMED = /[{[](?:\w{1,30}|[^\s{}[\].]{0,63}\.[^\s{}[\]]{1,200})[}\]]/g;

/**
 * True when a reply gives no reason of its own, so that only its enhanced code counts. Numbers, host names and traces are
 * not reasons, nor is a cut-off last word. Linear.
 */
export function saysNoReason(prose: string): boolean {
  if (IPV4.test(prose)) return false;
  const bare = prose.replace(STOCK, " ").replace(SHORT_HOST, " ").replace(TRACE, " ").replace(NAMED, " ");
  const words = spokenOf(bare)
    .split(" ")
    .filter((word) => /\p{L}/u.test(word) && !/\d/.test(word));
  const last = words.at(-1);
  return words.every(
    (word) =>
      SAYS_NO_REASON.has(word) ||
      (word === last && [...SAYS_NO_REASON, "unknown"].some((known) => known.startsWith(word))),
  );
}
