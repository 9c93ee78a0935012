import { createServer, isIP } from "node:net";
import type { FullResolver } from "../dns/resolver.ts";
import { attributeToAddress, combineFindings } from "../egress/self-check/combine.ts";
import { createDnsBlockLists, type DnsBlockLists } from "../egress/self-check/dnsbl.ts";
import {
  type AddressFamily,
  dialAddressFor,
  type KnownExchanger,
  knownExchangers,
} from "../egress/self-check/exchangers.ts";
import { checkForward, checkHeloName, checkReverse } from "../egress/self-check/names.ts";
import {
  noActionFinding,
  type RouteReport,
  routeReportOf,
  type SeenAddress,
  type SelfCheckFinding,
} from "../egress/self-check/report.ts";
import { mostFrequentAddress, seenAddressOf, withRemembered } from "../egress/self-check/seen-address.ts";
import { evaluateSpf } from "../egress/self-check/spf.ts";
import { isPublicAddress } from "../platform/public-address.ts";
import type { Clock } from "../platform/time/clock.ts";
import type { Greeting } from "../smtp/session/greet.ts";
import type { EgressRoute } from "../smtp/wire/egress-routes.ts";
import { lookUpMx } from "./mx.ts";

export interface PreflightDeps {
  clock: Clock;
  /** Without a cache, so that corrected records show in the next run. */
  resolver: FullResolver;
  /** How a mail exchanger greets us over a route. Never rejects, ends in bounded time. */
  greet(path: EgressRoute, host: string, address: string): Promise<Greeting>;
  /** True when a socket can be bound to the address. Never rejects. */
  canBind(address: string): Promise<boolean>;
  /** Lists of addresses, at most LIMITS.selfCheck.zones. */
  dnsblZones: readonly string[];
  /** True when the HELO name of the route was configured, not derived. */
  isHeloConfigured(path: EgressRoute): boolean;
  /** IP version of connections over a route that does not decide it. */
  family: AddressFamily;
  /** Reverse path of MAIL FROM; "" is the null sender. */
  mailFrom: string;
  probePrivateAddresses: boolean;
}

/** One check of our sender identity. */
export interface PreflightRun {
  /** Exchangers of the big providers, those whose names could be resolved. */
  readonly exchangers: readonly KnownExchanger[];
  /**
   * Checks a route now. Never rejects for the network's sake.
   * @param known addresses that servers saw before: they are checked too
   */
  checkRoute(path: EgressRoute, known?: readonly SeenAddress[]): Promise<RouteReport>;
}

/** Facts about a route before its names are checked. */
interface RouteFacts {
  path: EgressRoute;
  greetings: readonly Greeting[];
  /** Mail servers of the internet take our connections. */
  isPublic: boolean;
  /** The address that most servers see us come from; null: not known. */
  address: string | null;
  /** All addresses that servers see us come from. */
  addresses: readonly string[];
}

/** Resolves the names that every route needs; `look` then examines one route at a time or several at once. */
export async function startPreflight(deps: PreflightDeps): Promise<PreflightRun> {
  const exchangers = await knownExchangers(deps.resolver, deps.probePrivateAddresses);
  const lists = createDnsBlockLists(deps.resolver, deps.dnsblZones);
  return {
    exchangers,
    checkRoute: (path, known = []) => checkRouteWith(deps, exchangers, lists, path, known),
  };
}

async function checkRouteWith(
  deps: PreflightDeps,
  exchangers: readonly KnownExchanger[],
  lists: DnsBlockLists,
  path: EgressRoute,
  known: readonly SeenAddress[],
): Promise<RouteReport> {
  const dialled = exchangers.flatMap((exchanger) => {
    const address = dialAddressFor(path, exchanger, deps.family);
    return address === null ? [] : [{ host: exchanger.host, address }];
  });
  const [greetings, source] = await Promise.all([
    Promise.all(dialled.map(({ host, address }) => deps.greet(path, host, address))),
    checkSource(deps, path),
  ]);
  const isPublic = dialled.some(
    ({ address }, i) => greetings[i]?.reached === true && isPublicAddress(address),
  );
  const told = greetings.flatMap(({ hello }) => seenAddressOf(hello, deps.probePrivateAddresses) ?? []);
  const seen = withRemembered(told, known, deps.clock.now());
  const address = mostFrequentAddress(told) ?? configured(deps, path) ?? seen[0]?.address ?? null;
  const addresses = [...new Set([...(address === null ? [] : [address]), ...seen.map((one) => one.address)])];
  const facts = { path, greetings, isPublic, address, addresses };
  const names = await checkNames(deps, lists, facts);
  const sender = await checkSender(deps, facts);
  const findings = [source, checkProxy(facts), checkPort(facts), checkTls(facts), ...names, ...sender];
  return routeReportOf(path.name, address, deps.clock.now(), findings, seen);
}

/** The route's own address, used unless a mail server reported another one. */
function configured(deps: PreflightDeps, { localAddress: own }: EgressRoute): string | null {
  return own !== null && (isPublicAddress(own) || deps.probePrivateAddresses) ? own : null;
}

async function checkSource(
  deps: PreflightDeps,
  { localAddress, proxy }: EgressRoute,
): Promise<SelfCheckFinding> {
  const check = "source_address";
  if (proxy !== null) return noActionFinding(check, "skipped", "service", "The proxy chooses the address.");
  if (localAddress === null)
    return noActionFinding(check, "skipped", "service", "The system chooses the address.");
  if (await deps.canBind(localAddress))
    return noActionFinding(check, "pass", "service", `${localAddress} is an address of this host.`);
  const seen = `${localAddress} is no address of this host.`;
  const advice = "Add it to a network interface, or take it out of SMTP_SOURCE_ADDRESSES.";
  return { check, result: "fail", weight: "service", seen, advice };
}

const proxyFault = ({ greetings }: RouteFacts) =>
  greetings.some(({ reached }) => reached)
    ? undefined
    : greetings.find((greeting) => greeting.failure?.cause === "proxy")?.failure?.detail;

function checkProxy(facts: RouteFacts): SelfCheckFinding {
  const { path, greetings } = facts;
  const check = "proxy";
  if (path.proxy === null) return noActionFinding(check, "skipped", "service", "This route has no proxy.");
  if (greetings.some(({ reached }) => reached))
    return noActionFinding(check, "pass", "service", "The proxy lets us in and connects.");
  const fault = proxyFault(facts);
  if (fault === undefined)
    return noActionFinding(
      check,
      "unknown",
      "service",
      "No mail exchanger could be asked for through the proxy.",
    );
  const seen = `The proxy does not do its part (${fault.replace(/^proxy: /, "")}).`;
  const advice =
    "Check that it runs, that its address and credentials in SMTP_PROXIES are right, and its rules.";
  return { check, result: "fail", weight: "service", seen, advice };
}

function checkPort(facts: RouteFacts): SelfCheckFinding {
  const { path, greetings } = facts;
  const check = "port_25";
  if (proxyFault(facts) !== undefined)
    return noActionFinding(check, "unknown", "service", "The proxy refused every connection.");
  if (greetings.length === 0) {
    const seen = "No mail exchanger of the big providers could be resolved.";
    const advice = "Have DNS_SERVERS name a resolver that knows the internet.";
    return { check, result: "unknown", weight: "service", seen, advice };
  }
  const reached = greetings.filter((greeting) => greeting.reached).length;
  if (reached > 0)
    return noActionFinding(
      check,
      "pass",
      "service",
      `${reached} of ${greetings.length} big providers took the connection.`,
    );
  const advice =
    path.proxy === null
      ? "Ask your provider to open outgoing port 25, or run rcpt, or a SOCKS5 proxy, where it is open."
      : "Run the proxy where outgoing port 25 is open.";
  const seen = `None of ${greetings.length} big providers took a connection: nothing can be probed this way.`;
  return { check, result: "fail", weight: "service", seen, advice };
}

function checkTls({ greetings }: RouteFacts): SelfCheckFinding {
  const check = "starttls";
  if (greetings.some(({ tls }) => tls === "works"))
    return noActionFinding(check, "pass", "advice", "A TLS session with a big provider works.");
  if (!greetings.some(({ tls }) => tls === "broken" || tls === "not_offered"))
    return noActionFinding(check, "unknown", "advice", "No server came so far as to be asked for TLS.");
  const seen = "No big provider's STARTTLS works from here, as all of them offer it.";
  const advice =
    "Look for a firewall or proxy that inspects SMTP and takes STARTTLS out, and switch that off.";
  return { check, result: "fail", weight: "advice", seen, advice };
}

/**
 * HELO name, forward and reverse look-up, block lists: the properties by which servers judge an unknown client, for each
 * address that they see.
 */
async function checkNames(
  deps: PreflightDeps,
  lists: DnsBlockLists,
  facts: RouteFacts,
): Promise<SelfCheckFinding[]> {
  const { addresses, path, isPublic } = facts;
  const helo = checkHeloName({ name: path.heloName, isConfigured: deps.isHeloConfigured(path) }, isPublic);
  if (addresses.length === 0) {
    const unseen = "What mail servers take for our address is not known.";
    return [helo, ...ADDRESS_CHECKS.map((check) => noActionFinding(check, "unknown", "trust", unseen))];
  }
  const found = await Promise.all(addresses.map((address) => checkAddress(deps, lists, path, address)));
  return [helo, ...combineFindings(found)];
}

const ADDRESS_CHECKS = ["helo_forward", "reverse_name", "dnsbl"] as const;

/** The findings of `ADDRESS_CHECKS` for one address, in their order. */
async function checkAddress(
  { resolver }: PreflightDeps,
  lists: DnsBlockLists,
  { heloName }: EgressRoute,
  address: string,
): Promise<SelfCheckFinding[]> {
  if (!isPublicAddress(address)) {
    const why = `${address} is no address of the internet: nobody's DNS names it.`;
    const skipped = (["helo_forward", "reverse_name"] as const).map((check) =>
      noActionFinding(check, "skipped", "trust", why),
    );
    return [...skipped, await lists.check(address)];
  }
  const found = await Promise.all([
    checkForward(resolver, heloName, address),
    checkReverse(resolver, heloName, address),
    lists.check(address),
  ]);
  return found.map((finding) => attributeToAddress(address, finding));
}

/** The domain that is asked whether we may send in its name (RFC 7208 §2.4). */
async function checkSender(deps: PreflightDeps, { address, path }: RouteFacts): Promise<SelfCheckFinding[]> {
  const { mailFrom, resolver } = deps;
  const domain = mailFrom === "" ? path.heloName : mailFrom.slice(mailFrom.lastIndexOf("@") + 1);
  const spf =
    address === null || !isPublicAddress(address) ? null : await evaluateSpf(resolver, domain, address);
  const found = [mailFrom === "" ? nullSender() : await checkMailFrom(resolver, domain)];
  if (spf === null)
    found.push(noActionFinding("spf", "skipped", "advice", "No public address of ours is known."));
  else found.push(spfFinding(spf, domain, address ?? ""));
  return found;
}

function nullSender(): SelfCheckFinding {
  return noActionFinding("mail_from", "skipped", "advice", "MAIL FROM is <>, which has no domain.");
}

async function checkMailFrom(resolver: FullResolver, domain: string): Promise<SelfCheckFinding> {
  const mx = await lookUpMx(resolver, domain);
  if (mx.status === "ok" || mx.status === "implicit")
    return noActionFinding("mail_from", "pass", "advice", `The domain of MAIL FROM, ${domain}, takes mail.`);
  if (mx.status === "dns_error")
    return noActionFinding(
      "mail_from",
      "unknown",
      "advice",
      `The domain of MAIL FROM, ${domain}, could not be looked up.`,
    );
  const seen = `The domain of MAIL FROM, ${domain}, takes no mail: many servers refuse such a sender.`;
  const advice = "Give it an MX record, or set SMTP_MAIL_FROM to an address at a domain that has one.";
  return { check: "mail_from", result: "fail", weight: "advice", seen, advice };
}

function spfFinding(
  answer: Awaited<ReturnType<typeof evaluateSpf>>,
  domain: string,
  address: string,
): SelfCheckFinding {
  if (answer === "pass")
    return noActionFinding("spf", "pass", "advice", `SPF of ${domain} includes ${address}.`);
  if (answer === "unknown")
    return noActionFinding("spf", "unknown", "advice", `SPF of ${domain} could not be evaluated.`);
  const seen =
    answer === "none" ? `${domain} has no SPF record.` : `SPF of ${domain} does not include ${address}.`;
  const ip = isIP(address) === 6 ? "ip6" : "ip4";
  const advice = `Publish a TXT record at ${domain} with ${ip}:${address} in it, e.g. "v=spf1 ${ip}:${address} -all".`;
  return { check: "spf", result: "fail", weight: "advice", seen, advice };
}

/** True when a socket of this host can have `address`. Never rejects. */
export function canBind(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: address, port: 0, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
