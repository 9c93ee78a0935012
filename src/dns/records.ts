import { isIP } from "node:net";
import type { Answer } from "dns-packet";
import { LIMITS } from "../config/limits/limits.ts";
import { normalizeName } from "./name.ts";
import type { MxRecord } from "./resolver.ts";

/** The most preferred records, at most `LIMITS.dns.answerRecords`, without those that name no host. */
export function mxRecords(answers: readonly Answer[]): MxRecord[] {
  const records: MxRecord[] = [];
  for (const answer of answers) {
    if (answer.type !== "MX") continue;
    const exchange = normalizeName(answer.data.exchange) ?? ipv6Text(answer.data.exchange);
    if (exchange !== null) records.push({ preference: answer.data.preference ?? 0, exchange });
  }
  if (records.length > LIMITS.dns.answerRecords) records.sort((a, b) => a.preference - b.preference);
  return records.slice(0, LIMITS.dns.answerRecords);
}

/** An IPv6 address in place of a host name; no host name contains a colon. */
function ipv6Text(text: string): string | null {
  const address = text.endsWith(".") ? text.slice(0, -1) : text;
  return isIP(address) === 6 ? address.toLowerCase() : null;
}

/** Addresses as text, at most `LIMITS.dns.answerRecords`. */
export function addressRecords(answers: readonly Answer[]): string[] {
  const addresses: string[] = [];
  for (const answer of answers) {
    if ((answer.type === "A" || answer.type === "AAAA") && isIP(answer.data) !== 0)
      addresses.push(answer.data);
  }
  return addresses.slice(0, LIMITS.dns.answerRecords);
}

/** Host names that PTR records point to, at most `LIMITS.dns.answerRecords`; other values are left out. */
export function pointerRecords(answers: readonly Answer[]): string[] {
  const names: string[] = [];
  for (const answer of answers) {
    const name = answer.type === "PTR" ? normalizeName(answer.data) : null;
    if (name !== null && name !== "") names.push(name);
  }
  return names.slice(0, LIMITS.dns.answerRecords);
}

/** Texts, at most `LIMITS.dns.answerRecords`: the strings of a record joined, one character a byte. */
export function textRecords(answers: readonly Answer[]): string[] {
  const texts: string[] = [];
  for (const answer of answers) {
    if (answer.type !== "TXT") continue;
    const strings = Array.isArray(answer.data) ? answer.data : [answer.data];
    texts.push(strings.map((part) => (typeof part === "string" ? part : part.toString("latin1"))).join(""));
  }
  return texts.slice(0, LIMITS.dns.answerRecords);
}
