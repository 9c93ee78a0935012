import { LIMITS } from "../../config/limits/limits.ts";

declare const checked: unique symbol;

/**
 * An address that may appear in a command. `parseMailbox` is the only way to get one, so no command is ever built from
 * unchecked text.
 */
export interface Mailbox {
  readonly address: string;
  /** The local part is not ASCII: the server must offer SMTPUTF8 (RFC 6531). */
  readonly utf8: boolean;
  readonly [checked]: "mailbox";
}

/** The host name of EHLO and HELO, checked. */
export type HeloName = string & { readonly [checked]: "helo" };
/** The reverse path of MAIL FROM without its angle brackets, checked; "" is the null sender. */
export type ReversePath = string & { readonly [checked]: "reverse-path" };

const DOT_ATOM_ASCII = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/;
const QUOTED_ASCII = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/;
/** As above plus UTF8-non-ascii, minus the C1 controls, the line and paragraph separators and lone surrogates. */
const DOT_ATOM_UTF8 = /^(?:[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]|[^\0-\x9f\u2028\u2029\p{Cs}])+$/u;
const QUOTED_UTF8 = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e]|[^\0-\x9f\u2028\u2029\p{Cs}])*"$/u;
const HOST_NAME = /^[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*$/;
const ASCII = /^[\0-\x7f]*$/;

function isHostName(text: string): boolean {
  return text.length <= LIMITS.smtp.domainBytes && HOST_NAME.test(text);
}

/**
 * Checks `text` (local part, `@`, domain in A-labels) for use in a command. Lengths are those of RFC 5321 §4.5.3.1: local
 * part 64, domain 255, path with its brackets 256 octets. Dot placement and the like belong to the address rules: this only
 * ensures that the server reads one mailbox.
 * @returns null when the text must not be sent
 */
export function parseMailbox(text: string): Mailbox | null {
  const lastAt = text.lastIndexOf("@");
  if (lastAt < 1 || Buffer.byteLength(text) > LIMITS.smtp.pathBytes - 2) return null;
  const local = text.slice(0, lastAt);
  if (!isHostName(text.slice(lastAt + 1)) || Buffer.byteLength(local) > LIMITS.smtp.localPartBytes)
    return null;
  const utf8 = !ASCII.test(local);
  const dotAtom = utf8 ? DOT_ATOM_UTF8 : DOT_ATOM_ASCII;
  const quoted = utf8 ? QUOTED_UTF8 : QUOTED_ASCII;
  if (!dotAtom.test(local) && !quoted.test(local)) return null;
  return { address: text, utf8 } as Mailbox;
}

/** @returns null unless `text` is a host name of letters, digits, hyphens and dots, at most 255 octets */
export function parseHeloName(text: string): HeloName | null {
  return isHostName(text) ? (text as HeloName) : null;
}

/** "" (the null sender) or an ASCII mailbox: the sender must not require SMTPUTF8 of every server. */
export function parseReversePath(text: string): ReversePath | null {
  if (text === "") return "" as ReversePath;
  const mailbox = parseMailbox(text);
  return mailbox && !mailbox.utf8 ? (text as ReversePath) : null;
}
