import { nearestIn } from "./domain-set.ts";
import type { Lists } from "./lists.ts";
import { NEVER_DISPOSABLE } from "./trusted.ts";

/**
 * Mail exchangers of throw-away services: their domains change by the day, their servers do not. Each stands for itself and
 * all below it, and is the service's own: counted by maintainers of public lists of disposable domains, who resolved
 * theirs, nearly every domain behind it was listed (the figures are such counts, of 2026). Hosts that others use too
 * (Cloudflare, Google, registrars' forwarding, mail2world, relays of aliases) are left out on purpose.
 */
const DISPOSABLE_MX: ReadonlySet<string> = new Set([
  // temp-mail.org: 1 828 of 1 830.
  ...["wabblywabble.com", "wallywatts.com"],
  // emailfake.com, email-fake.com, generator.email: 1 461 of 1 475, 684 of 694.
  ...["generator.email", "emailfake.com", "email-fake.com", "tempm.com"],
  // 1 295 of 1 295; 1 160 of 1 161.
  ...["unstablemail.com", "beavis99.com", "beavis99.net"],
  // dropmail.me: 460 of 460, 369 of 369, 333 of 333, 169, 158, 157, 122.
  ...[
    "emlhub.com",
    "emltmp.com",
    "emlpro.com",
    "spymail.one",
    "mx.dropmail.me",
    "mx.freeml.net",
    "mx.yomail.info",
  ],
  // 747 of 747; 390 of 391; 379 of 379; 377 of 378; 127 of 127. Only the very host where the domain is more than mail.
  ...["email.chatgpt.org.uk", "email.gravityengine.cc", "tinyhost.shop", "mail.cleantempmail.com"],
  ...["mail.casadorock.com"],
  // Services under their own name: mailinator.com 115 of 115, yopmail.com 442 of 448.
  ...[
    "mailinator.com",
    "yopmail.com",
    "guerrillamail.com",
    "in.mail.tm",
    "mailnesia.com",
    "10minutemail.com",
  ],
  ...["mx.temp-mail.io", "mx2.temp-mail.io", "1secmail.com", "mx.discard.email", "moakt.com", "erinn.biz"],
  ...["mail.onetimemail.org", "emaildbox.pro", "mx2.den.yt", "mx1.icdn.be", "loti3.papierkorb.me"],
]);

/** Mail exchangers of domains that are for sale or show advertisements: they take everything and nobody reads it. */
const PARKING_MX: ReadonlySet<string> = new Set([
  // above.com, Dynadot, Sedo, Team Internet (ParkingCrew and its like, under many names), Bodis, and null exchangers.
  ...["park-mx.above.com", "parkmail.dynadot.com", "sedoparking.com", "parkingcrew.net", "h-email.net"],
  ...[
    "pickelhost.com",
    "mailerhost.net",
    "mailer-host.com",
    "nickstel.com",
    "hope-mail.com",
    "post-host.net",
  ],
  ...["emailofsteel.com", "yurtmail.com", "happyisp.com", "flip-mail.com", "eye-mail.net"],
  ...["m1bp.com", "mb1p.com", "m2bp.com", "mb5p.com", "bodis.com", "fakemx.net", "nullmx.domainmanager.com"],
]);

/** Names and literals that lead to the sender's own machine: a way to say that no mail is taken, older than RFC 7505. */
const NOWHERE: ReadonlySet<string> = new Set([
  ...["localhost", "localhost.localdomain", "127.0.0.1", "0.0.0.0", "dev.null", "blackhole"],
]);

export interface ExchangersRead {
  /** How many of them belong to throw-away services. */
  throwAway: "all" | "some" | "none";
  /** Mail to them reaches nobody: all of them are a parking service's, or the sender's own machine. */
  parked: boolean;
}

/** By identity: cached evidence is judged anew for each request, and its hosts do not change. */
const read = new WeakMap<readonly string[], ExchangersRead>();

/** Whose mail exchangers these are: host names, lower case. The array must not be changed afterwards. */
export function readExchangers(hosts: readonly string[]): ExchangersRead {
  const known = read.get(hosts);
  if (known !== undefined) return known;
  const theirs = hosts.filter((host) => nearestIn(host, DISPOSABLE_MX) !== null).length;
  const throwAway = theirs === 0 ? "none" : theirs === hosts.length ? "all" : "some";
  const parked = hosts.every((host) => NOWHERE.has(host) || nearestIn(host, PARKING_MX) !== null);
  const found: ExchangersRead = { throwAway, parked: parked && hosts.length > 0 };
  read.set(hosts, found);
  return found;
}

/**
 * Whether a domain is disposable: by the lists, or by all of its exchangers (source `shared-mx`). Never one that is
 * trusted, whoever runs its servers.
 */
export function disposableBy(
  lists: Pick<Lists, "disposable">,
  domain: string,
  hosts: readonly string[],
): { listed: boolean; source: string } {
  const listed = lists.disposable(domain);
  if (listed.listed || readExchangers(hosts).throwAway !== "all") return listed;
  return nearestIn(domain, NEVER_DISPOSABLE) === null ? { listed: true, source: "shared-mx" } : listed;
}
