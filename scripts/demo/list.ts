import type { MailWorld } from "../../test/support/mail-world/world.ts";

/** One row of the demo's list, with its correct answer. */
export interface ListRow {
  /** The record's values as they stand in the file: id, name, address, note. */
  values: readonly string[];
  verdict: string;
  reason: string;
  /** Why the row is free of charge: it repeats an earlier row, or is no address; null: it is charged. */
  isFree: "repeat" | "malformed" | null;
}

/** A customer's list, made row by row from the row's number alone: it is never held whole. */
export interface CustomerList {
  readonly rows: number;
  readonly header: readonly string[];
  /** @param i counted from 0 */
  row(i: number): ListRow;
}

/** Rows that differ from the rest, of each thousand. */
const THOUSAND = 1_000;
/** Approximate number of rows of a domain, which is the number of names. */
const ROWS_PER_DOMAIN = 500;
const FIRST = (
  "anna ben carla david elena felix greta hugo ida jonas " +
  "klara leo maria noah olga paul quentin rosa simon tina"
).split(" ");
const LAST = (
  "miller smith garcia rossi novak jansen meyer dubois silva larsen kowalski " +
  "horvat nagy costa moreau weber fischer keller bauer wagner romero lopez santos ferrari ricci"
).split(" ");

/** Sites of the list's domains: each has a mail server, and a cap, of its own. */
export const LIST_SITES = 24;
const DISPOSABLE = "mailinator.com";

const siteHost = (site: number) => `mx.site${site}.test`;

function domainCount(rows: number): number {
  return Math.max(LIST_SITES, Math.ceil(rows / ROWS_PER_DOMAIN));
}

/** Whether the list's mail servers accept the local part. */
export function isOnList(local: string): boolean {
  return local.startsWith("exists.") || local === "info";
}

/** Puts the domains of a list into the world's DNS. `addresses`: of the mail servers of LIST_SITES sites. */
export function publishDomains(world: MailWorld, rows: number, addresses: readonly string[]): void {
  for (const [site, address] of addresses.entries()) world.dns.set(siteHost(site), { a: [address] });
  for (let domain = 0; domain < domainCount(rows); domain++)
    world.dns.set(`d${domain}.list.test`, { mx: [[10, siteHost(domain % LIST_SITES)]] });
  world.dns.set(DISPOSABLE, { mx: [[10, siteHost(0)]] });
}

type Answer = [email: string, verdict: string, reason: string, isFree?: ListRow["isFree"]];

/**
 * One kind of row for each position within a thousand: first the unusual ones, then existing mailboxes, and some
 * missing.
 */
function answerOf(i: number, domains: number): Answer {
  const place = i % THOUSAND;
  const domain = `d${i % domains}.list.test`;
  const turn = Math.floor(i / domains);
  const name = `${FIRST[turn % FIRST.length]}.${LAST[Math.floor(turn / FIRST.length) % LAST.length]}`;
  if (place === 0) return [`no address ${i}`, "invalid", "invalid_format", "malformed"];
  if (place >= 30 && place < 50) {
    const [email, verdict, reason] = answerOf(i - 20, domains);
    return [email.replace(/@.*/, (at) => at.toUpperCase()), verdict, reason, "repeat"];
  }
  if (place >= 50 && place < 70) return [`anybody.${i}@catchall.test`, "risky", "catch_all"];
  if (place === 80) return [`info@d${Math.floor(i / THOUSAND)}.list.test`, "risky", "role_address"];
  if (place <= 83 && place > 80) return [`full-${i}@plain.test`, "risky", "mailbox_full"];
  if (place <= 86 && place > 83) return [`disabled-${i}@plain.test`, "invalid", "mailbox_disabled"];
  if (place <= 88 && place > 86) return [`someone@gone${i}.test`, "invalid", "domain_not_found"];
  if (place === 90) return [`someone.${i}@nullmx.test`, "invalid", "null_mx"];
  if (place === 91) return [`someone.${i}@${DISPOSABLE}`, "risky", "disposable_domain"];
  // 450 at the first attempt: the row is deferred, and is answered when it is tried again.
  if (place === 92) return [`greylisted-briefly-${i}@plain.test`, "valid", "accepted_mailbox"];
  if (place >= 100 && place < 250) return [`gone.${name}@${domain}`, "invalid", "mailbox_not_found"];
  return [`exists.${name}@${domain}`, "valid", "accepted_mailbox"];
}

/** @param rows any number: the file is as long, the memory it takes is not */
export function createCustomerList(rows: number): CustomerList {
  const domains = domainCount(rows);
  return {
    rows,
    header: ["id", "name", "E-mail", "note"],
    row(i) {
      const [email, verdict, reason, isFree = null] = answerOf(i, domains);
      const note = i % 10 === 3 ? `says "hello, row ${i}"\nand more` : `ü${i}`;
      return { values: [String(i), `Customer, ${i}`, email, note], verdict, reason, isFree };
    },
  };
}

/** One record, RFC 4180. */
export function csvRecord(values: readonly string[]): string {
  const fields = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value));
  return `${fields.join(",")}\r\n`;
}
