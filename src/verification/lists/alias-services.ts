import { nearestIn } from "./domain-set.ts";

/**
 * Services that give out aliases of one person's mailbox, which live as long as that person wants. By name, their domains,
 * each with all subdomains. Never disposable (trusted.ts); mailchecker lists most.
 */
const DOMAINS: Readonly<Record<string, readonly string[]>> = {
  simplelogin: [
    ...["simplelogin.com", "simplelogin.co", "simplelogin.fr", "simplelogin.io", "aleeas.com", "slmail.me"],
    ...["slmails.com", "8alias.com", "8shield.net", "dralias.com", "silomails.com"],
  ],
  proton_pass: ["passmail.net", "passmail.com", "passinbox.com", "passfwd.com"],
  addy_io: ["addy.io", "anonaddy.com", "anonaddy.me", "addymail.com", "addy.biz", "4wrd.cc", "mailer.me"],
  duckduckgo: ["duck.com"],
  firefox_relay: ["mozmail.com", "relay.firefox.com"],
  apple_hide_my_email: ["privaterelay.appleid.com"],
  "33mail": ["33mail.com"],
  erine: ["erine.email"],
  ironvest: ["opayq.com"],
  e4ward: ["e4ward.com"],
  sneakemail: ["sneakemail.com", "snkmail.com"],
  burner_mail: ["burnermail.io", "nicoric.com"],
  cloaked: ["cloaked.id", "mycloaked.id", "myclkd.email"],
};

/** Exchangers of domains of one's own, all of whose addresses are the service's aliases. */
const MX_HOSTS: Readonly<Record<string, readonly string[]>> = {
  simplelogin: ["simplelogin.co"],
  proton_pass: ["alias.proton.me"],
  addy_io: ["anonaddy.me", "addy.io"],
};

const byDomain = (table: Readonly<Record<string, readonly string[]>>) =>
  new Map(
    Object.entries(table).flatMap(([name, domains]) => domains.map((domain) => [domain, name] as const)),
  );

const SERVICE_OF_DOMAIN = byDomain(DOMAINS);
const SERVICE_OF_MX = byDomain(MX_HOSTS);

export const ALIAS_DOMAINS: ReadonlySet<string> = new Set(SERVICE_OF_DOMAIN.keys());
const ALIAS_MX: ReadonlySet<string> = new Set(SERVICE_OF_MX.keys());

/** By identity: cached evidence is judged again for each request, and its hosts do not change. */
const serviceOfHosts = new WeakMap<readonly string[], string | null>();

function serviceBehind(hosts: readonly string[]): string | null {
  let service = serviceOfHosts.get(hosts);
  if (service === undefined) {
    const [best] = hosts;
    const host = best === undefined ? null : nearestIn(best, ALIAS_MX);
    service = host === null ? null : (SERVICE_OF_MX.get(host) ?? null);
    serviceOfHosts.set(hosts, service);
  }
  return service;
}

/**
 * The alias service that the addresses of a domain are handed out by; null: none that is known.
 * @param hosts the domain's exchangers, best first; the array must not be changed afterwards
 */
export function aliasServiceOf(domain: string, hosts: readonly string[]): string | null {
  const known = nearestIn(domain, ALIAS_DOMAINS);
  return known === null ? serviceBehind(hosts) : (SERVICE_OF_DOMAIN.get(known) ?? null);
}
