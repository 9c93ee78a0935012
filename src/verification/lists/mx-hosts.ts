import { nearestIn } from "./domain-set.ts";
import type { Lists } from "./lists.ts";
import { NEVER_DISPOSABLE } from "./trusted.ts";

/**
 * Mail exchangers of throw-away services: their domains change daily, their servers do not. Each entry includes all names
 * below it. A host is listed when it is the service's own by its name. Or several people who surveyed the MX records of
 * listed domains (hundreds each, in 2026) found only throw-away domains behind it. A count alone proves nothing:
 * Cloudflare's, Google's and registrars' hosts have a thousand such domains too, beside millions of honest ones. Those,
 * hosters and alias relays are left out on purpose.
 */
const DISPOSABLE_MX: ReadonlySet<string> = new Set([
  // emailfake.com, email-fake.com, generator.email and their 1 500 domains.
  ...["generator.email", "emailfake.com", "email-fake.com", "tempm.com"],
  // A service with 1 900 domains.
  ...["wabblywabble.com", "wallywatts.com"],
  // dropmail.me, with hundreds of domains behind each.
  ...[
    "emlhub.com",
    "emltmp.com",
    "emlpro.com",
    "spymail.one",
    "mx.dropmail.me",
    "mx.freeml.net",
    "mx.yomail.info",
  ],
  // Hundreds of domains each; only the very host where the domain is more than mail.
  ...["email.chatgpt.org.uk", "email.gravityengine.cc", "tinyhost.shop", "mail.cleantempmail.com"],
  // Services under their own name; erinn.biz is kuku.lu's.
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

/**
 * Mail exchangers of domains that are for sale, show advertisements or were registered for typing errors. They accept all
 * mail, and the intended recipient does not read it.
 */
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
  // Catch-all networks behind names like `166gmail.com`.
  ...["beavis99.com", "beavis99.net", "unstablemail.com", "rejecthost.com"],
]);

/** Names and literals that lead to the sender's own machine: a form of "no mail" that is older than RFC 7505. */
const NOWHERE: ReadonlySet<string> = new Set([
  ...["localhost", "localhost.localdomain", "127.0.0.1", "0.0.0.0", "dev.null", "blackhole"],
]);

export interface ExchangerOwners {
  /** How many of them belong to throw-away services. */
  throwAway: "all" | "some" | "none";
  /** Mail to them is not read: all of them are a parking service's, or the sender's own machine. */
  parked: boolean;
}

/** By identity: cached evidence is judged again for each request, and its hosts do not change. */
const read = new WeakMap<readonly string[], ExchangerOwners>();

/** The owners of these mail exchangers: host names, lower case. The array must not be changed afterwards. */
export function exchangerOwnersOf(hosts: readonly string[]): ExchangerOwners {
  const known = read.get(hosts);
  if (known !== undefined) return known;
  const theirs = hosts.filter((host) => nearestIn(host, DISPOSABLE_MX) !== null).length;
  const throwAway = theirs === 0 ? "none" : theirs === hosts.length ? "all" : "some";
  const parked = hosts.every((host) => NOWHERE.has(host) || nearestIn(host, PARKING_MX) !== null);
  const found: ExchangerOwners = { throwAway, parked: parked && hosts.length > 0 };
  read.set(hosts, found);
  return found;
}

/**
 * Whether a domain is disposable: by the lists, or by all of its exchangers (source `shared-mx`). Never one that is
 * trusted, on whichever servers.
 */
export function findDisposable(
  lists: Pick<Lists, "disposable">,
  domain: string,
  hosts: readonly string[],
): { listed: boolean; source: string } {
  const listed = lists.disposable(domain);
  if (listed.listed || exchangerOwnersOf(hosts).throwAway !== "all") return listed;
  return nearestIn(domain, NEVER_DISPOSABLE) === null ? { listed: true, source: "shared-mx" } : listed;
}
