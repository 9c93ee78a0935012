import { isIP } from "node:net";
import type { DnsOutcome, FullResolver } from "../../dns/resolver.ts";
import { noActionFinding, type SelfCheckFinding } from "./report.ts";
import { isSameAddress, ptrNameOf } from "./reverse.ts";

/** The name that we give in EHLO. */
export interface HeloNameSource {
  name: string;
  /** False: made up from the host's name. */
  isConfigured: boolean;
}

const NAME_IT =
  "Set SMTP_HELO_NAME to a name of your own domain that resolves to the address and that its PTR names.";
/** Names that no resolver of the internet knows. */
const LOCAL = /(^|\.)(localdomain|local|localhost|internal|lan|home\.arpa|invalid|test)$/i;

/** @param isPublic mail servers of the internet can be reached: before that a made-up name does no harm */
export function checkHeloName(
  { name, isConfigured: given }: HeloNameSource,
  isPublic: boolean,
): SelfCheckFinding {
  const made = { check: "helo_name", weight: "trust" } as const;
  if (!given) {
    const seen = `SMTP_HELO_NAME is not set: mail servers are told ${name}, which was made up from this host's name.`;
    return { ...made, result: isPublic ? "fail" : "unknown", seen, advice: NAME_IT };
  }
  const isFull = name.includes(".") && !LOCAL.test(name);
  if (isFull || !isPublic)
    return noActionFinding("helo_name", "pass", "trust", `Mail servers are told ${name}.`);
  const seen = `Mail servers are told ${name}, which is no name of the internet (RFC 5321 §4.1.1.1).`;
  return { ...made, weight: "advice", result: "fail", seen, advice: NAME_IT };
}

/** Addresses of a name of `address`'s family. */
function addressesOf(resolver: FullResolver, name: string, address: string): Promise<DnsOutcome<string>> {
  return isIP(address) === 6 ? resolver.aaaa(name) : resolver.a(name);
}

/** True when the zone itself denies the name: any other result may be our resolver's fault. */
function isAbsent(outcome: DnsOutcome<unknown>): boolean {
  return (outcome.status === "nxdomain" || outcome.status === "no_data") && outcome.proven;
}

function holds(outcome: DnsOutcome<string>, address: string): boolean {
  return outcome.status === "ok" && outcome.records.some((record) => isSameAddress(record, address));
}

/** The name of EHLO leads to the address that servers see. */
export async function checkForward(
  resolver: FullResolver,
  name: string,
  address: string,
): Promise<SelfCheckFinding> {
  const found = await addressesOf(resolver, name, address);
  if (holds(found, address))
    return noActionFinding("helo_forward", "pass", "trust", `${name} resolves to ${address}.`);
  const failed = { check: "helo_forward", result: "fail", weight: "trust" } as const;
  const advice = `Add an ${isIP(address) === 6 ? "AAAA" : "A"} record: ${name} → ${address}.`;
  if (found.status === "ok")
    return {
      ...failed,
      seen: `${name} resolves to ${found.records.slice(0, 3).join(", ")}, not to ${address}.`,
      advice,
    };
  if (isAbsent(found)) return { ...failed, seen: `${name} does not resolve to an address.`, advice };
  return noActionFinding("helo_forward", "unknown", "trust", `${name} could not be looked up.`);
}

/** The address has a name (PTR), which is that of EHLO or leads back to the address: FCrDNS. */
export async function checkReverse(
  resolver: FullResolver,
  name: string,
  address: string,
): Promise<SelfCheckFinding> {
  const pointers = await resolver.ptr(ptrNameOf(address));
  const failed = { check: "reverse_name", result: "fail", weight: "trust" } as const;
  const advice = `Have whoever gave you ${address} set its PTR record to ${name}.`;
  if (pointers.status !== "ok") {
    if (isAbsent(pointers)) return { ...failed, seen: `${address} has no PTR record.`, advice };
    return noActionFinding(
      "reverse_name",
      "unknown",
      "trust",
      `The PTR record of ${address} could not be looked up.`,
    );
  }
  const names = pointers.records.slice(0, 5);
  if (names.includes(name.toLowerCase()))
    return noActionFinding("reverse_name", "pass", "trust", `The PTR record of ${address} is ${name}.`);
  const back = await Promise.all(names.map((pointer) => addressesOf(resolver, pointer, address)));
  const told = `The PTR record of ${address} is ${names.join(", ")}`;
  if (back.some((outcome) => holds(outcome, address)))
    return noActionFinding("reverse_name", "pass", "trust", `${told}, which resolves back to it.`);
  if (back.some((outcome) => outcome.status !== "ok" && !isAbsent(outcome)))
    return noActionFinding("reverse_name", "unknown", "trust", `${told}, which could not be looked up.`);
  return { ...failed, seen: `${told}, which does not resolve back to it.`, advice };
}
