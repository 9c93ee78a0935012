import { isIP } from "node:net";
import type { Answer } from "dns-packet";
import { LIMITS } from "../core/limits.ts";
import { normalizeName } from "./name.ts";
import type { MxRecord } from "./resolver.ts";

/** At most `LIMITS.dns.answerRecords`, those of best preference; a record that names no host is left out. */
export function mxRecords(answers: readonly Answer[]): MxRecord[] {
  const records: MxRecord[] = [];
  for (const answer of answers) {
    if (answer.type !== "MX") continue;
    const exchange = normalizeName(answer.data.exchange);
    if (exchange !== null) records.push({ preference: answer.data.preference ?? 0, exchange });
  }
  if (records.length > LIMITS.dns.answerRecords) records.sort((a, b) => a.preference - b.preference);
  return records.slice(0, LIMITS.dns.answerRecords);
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
