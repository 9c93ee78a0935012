import { isIP } from "node:net";
import { LIMITS } from "../../config/limits/limits.ts";
import type { DnsOutcome, FullResolver } from "../../dns/resolver.ts";
import { noActionFinding, type SelfCheckFinding } from "./report.ts";
import { reverseLabels } from "./reverse.ts";

/**
 * Block lists of addresses, by DNS (RFC 5782). An answer is a listing only when it is in 127.0.0.0/8, is not an error code
 * of the zone, and the zone's own test points are right. Lists that are shut down, or refuse our resolver, list everything
 * or nothing.
 */
type ZoneAnswer =
  | { kind: "listed"; zone: string; codes: string[]; text: string }
  | { kind: "clear"; zone: string }
  /** The zone cannot be believed. */
  | { kind: "broken"; zone: string; why: Distrust }
  /** The answer looks like a listing, but the zone's test points do not answer. */
  | { kind: "unproven"; zone: string; why: Distrust };

/** Why a zone cannot be believed. */
interface Distrust {
  text: string;
  /** `silent`: no answer came; `error`: it may tell another time; `dead`: it does not behave as a list does. */
  kind: "silent" | "error" | "dead";
}

const mappedNibbles = (ipv4Hex: string) => [...`${"0".repeat(20)}ffff${ipv4Hex}`].toReversed().join(".");

/** Test points of RFC 5782 §5 by IP version: 127.0.0.2 is always listed, 127.0.0.1 never; of IPv6 they are mapped. */
const TEST_LABELS: Readonly<Record<number, readonly [listed: string, clear: string]>> = {
  4: ["2.0.0.127", "1.0.0.127"],
  6: [mappedNibbles("7f000002"), mappedNibbles("7f000001")],
};

const isCode = (answer: string) => answer.startsWith("127.");
/** `127.255.255.254`: asked through a public resolver; `.255`: too often; `.252`: a typing error in the zone's name. */
const isError = (answer: string) => answer.startsWith("127.255.255.");

type ZoneReading = { codes: string[]; why?: undefined } | { codes?: undefined; why: Distrust };

function read(outcome: DnsOutcome<string>): ZoneReading {
  if (outcome.status === "nxdomain" || outcome.status === "no_data") return { codes: [] };
  if (outcome.status !== "ok")
    return { why: { text: `it did not answer (${outcome.code})`, kind: "silent" } };
  const strange = outcome.records.find((answer) => !isCode(answer) || isError(answer));
  if (strange === undefined) return { codes: outcome.records };
  const kind = isCode(strange) ? "error" : "dead";
  return { why: { text: `it answered ${strange}, which is an error`, kind } };
}

export interface DnsBlockLists {
  /** Asks every zone about `address`. */
  check(address: string): Promise<SelfCheckFinding>;
}

/** For one round of checks: each zone is tested once per IP version, however many addresses are checked. */
export function createDnsBlockLists(resolver: FullResolver, zones: readonly string[]): DnsBlockLists {
  const tests = new Map<string, Promise<Distrust | null>>();
  const ask = async (zone: string, labels: string) => read(await resolver.a(`${labels}.${zone}`));

  /** @returns null: the zone can be trusted */
  async function testZone(zone: string, family: number): Promise<Distrust | null> {
    const [listed, clear] = TEST_LABELS[family] ?? ["", ""];
    const [must, mustNot] = await Promise.all([ask(zone, listed), ask(zone, clear)]);
    // A wrong listing weighs more than a missing one.
    const found = [must.why, mustNot.why].filter((why) => why !== undefined);
    const dead = found.find(({ kind }) => kind === "dead");
    if (dead !== undefined) return dead;
    if (mustNot.codes !== undefined && mustNot.codes.length > 0)
      return { text: "it lists everything, also what no list may have", kind: "dead" };
    const [first] = found;
    if (first !== undefined) return found.find(({ kind }) => kind === "error") ?? first;
    if (must.codes?.length === 0)
      return { text: "it does not list the address that every list has for tests", kind: "error" };
    return null;
  }

  async function askZone(zone: string, address: string): Promise<ZoneAnswer> {
    const family = isIP(address);
    const key = `${zone} ${family}`;
    const test = tests.get(key) ?? testZone(zone, family);
    tests.set(key, test);
    const labels = reverseLabels(address);
    const [why, answer] = await Promise.all([test, ask(zone, labels)]);
    if (answer.why !== undefined) return { kind: "broken", zone, why: why ?? answer.why };
    if (why !== null) {
      const isPositive = why.kind === "silent" && answer.codes.length > 0;
      return { kind: isPositive ? "unproven" : "broken", zone, why };
    }
    if (answer.codes.length === 0) return { kind: "clear", zone };
    const texts = await resolver.txt(`${labels}.${zone}`);
    const text = texts.status === "ok" ? printable(texts.records[0] ?? "") : "";
    return { kind: "listed", zone, codes: answer.codes.slice(0, LIMITS.selfCheck.codesReported), text };
  }

  return {
    async check(address) {
      const answers = await Promise.all(zones.map((zone) => askZone(zone, address)));
      return findingOf(address, answers);
    },
  };
}

/** Text of strangers' DNS records as printable ASCII on one line, cut to a maximum length. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, LIMITS.selfCheck.textChars);
}

function findingOf(address: string, answers: readonly ZoneAnswer[]): SelfCheckFinding {
  const listed = answers.filter((answer) => answer.kind === "listed");
  const clear = answers.filter((answer) => answer.kind === "clear");
  const unbelieved = answers.filter((answer) => answer.kind === "broken" || answer.kind === "unproven");
  const notes = unbelieved.map(({ zone, why }) => ` ${zone} cannot be believed: ${why.text}.`).join("");
  const named = (zones: readonly ZoneAnswer[]) => zones.map(({ zone }) => `${address} ${zone}`);
  const untold = named(unbelieved.filter(({ why }) => why.kind !== "dead"));
  if (listed.length > 0) {
    const where = listed.map(
      ({ zone, codes, text }) => `${zone} (${codes.join(", ")}${text === "" ? "" : `: ${text}`})`,
    );
    return {
      check: "dnsbl",
      result: "fail",
      weight: "trust",
      seen: `${address} is listed at ${where.join("; ")}.${notes}`,
      advice:
        "Find out why at the list's own pages, stop the cause, ask to be removed; or use another address.",
      failing: named(listed),
      untold,
    };
  }
  if (answers.length === 0)
    return noActionFinding("dnsbl", "skipped", "trust", "No list is asked (DNSBL_ZONES).");
  if (unbelieved.some(({ kind }) => kind === "unproven")) {
    const seen = `${address} may be listed.${notes}`;
    return { ...noActionFinding("dnsbl", "unknown", "trust", seen), untold, again: true };
  }
  if (clear.length === 0)
    return { ...noActionFinding("dnsbl", "unknown", "trust", `No list could be asked.${notes}`), untold };
  const names = clear.map(({ zone }) => zone).join(", ");
  return {
    ...noActionFinding("dnsbl", "pass", "trust", `${address} is not listed at ${names}.${notes}`),
    untold,
  };
}
