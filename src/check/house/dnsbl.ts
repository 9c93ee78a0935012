import { isIP } from "node:net";
import { LIMITS } from "../../core/limits.ts";
import type { DnsOutcome, FullResolver } from "../../dns/resolver.ts";
import { type Finding, fine } from "./report.ts";
import { reversed } from "./reverse.ts";

/**
 * Block lists of addresses, by DNS (RFC 5782). An answer is a listing only when it is in 127.0.0.0/8, is none of the
 * zone's error codes, and the zone behaves at its own test points: lists that are shut down, or do not answer our
 * resolver, list everything or nothing.
 */
type ZoneAnswer =
  | { kind: "listed"; zone: string; codes: string[]; text: string }
  | { kind: "clear"; zone: string }
  /** The zone cannot be believed. */
  | { kind: "broken"; zone: string; why: string };

const mappedNibbles = (ipv4Hex: string) => [...`${"0".repeat(20)}ffff${ipv4Hex}`].toReversed().join(".");

/** Test points of RFC 5782 §5 by IP version: 127.0.0.2 is always listed, 127.0.0.1 never; of IPv6 they are mapped. */
const TEST_LABELS: Readonly<Record<number, readonly [listed: string, clear: string]>> = {
  4: ["2.0.0.127", "1.0.0.127"],
  6: [mappedNibbles("7f000002"), mappedNibbles("7f000001")],
};

const isCode = (answer: string) => answer.startsWith("127.");
/** `127.255.255.254`: asked through a public resolver; `.255`: too often; `.252`: a typing error in the zone's name. */
const isError = (answer: string) => answer.startsWith("127.255.255.");

type Looked = { codes: string[] } | { why: string };

function read(outcome: DnsOutcome<string>): Looked {
  if (outcome.status === "nxdomain" || outcome.status === "no_data") return { codes: [] };
  if (outcome.status !== "ok") return { why: `it did not answer (${outcome.code})` };
  const strange = outcome.records.find((answer) => !isCode(answer) || isError(answer));
  return strange === undefined
    ? { codes: outcome.records }
    : { why: `it answered ${strange}, which is an error` };
}

export interface BlockLists {
  /** Asks every zone about `address`. */
  check(address: string): Promise<Finding>;
}

/** For one round of checks: each zone is tested once by IP version, whatever number of addresses is asked about. */
export function createBlockLists(resolver: FullResolver, zones: readonly string[]): BlockLists {
  const tests = new Map<string, Promise<string | null>>();
  const ask = async (zone: string, labels: string) => read(await resolver.a(`${labels}.${zone}`));

  /** @returns why the zone cannot be believed; null: it can. */
  async function testZone(zone: string, family: number): Promise<string | null> {
    const [listed, clear] = TEST_LABELS[family] ?? ["", ""];
    const [must, mustNot] = await Promise.all([ask(zone, listed), ask(zone, clear)]);
    if ("why" in must) return must.why;
    if ("why" in mustNot) return mustNot.why;
    if (must.codes.length === 0) return "it does not list the address that every list has for tests";
    if (mustNot.codes.length > 0) return "it lists everything, also what no list may have";
    return null;
  }

  async function askZone(zone: string, address: string): Promise<ZoneAnswer> {
    const family = isIP(address);
    const key = `${zone} ${family}`;
    const test = tests.get(key) ?? testZone(zone, family);
    tests.set(key, test);
    const labels = reversed(address);
    const [why, answer] = await Promise.all([test, ask(zone, labels)]);
    if (why !== null) return { kind: "broken", zone, why };
    if ("why" in answer) return { kind: "broken", zone, why: answer.why };
    if (answer.codes.length === 0) return { kind: "clear", zone };
    const texts = await resolver.txt(`${labels}.${zone}`);
    const text = texts.status === "ok" ? printable(texts.records[0] ?? "") : "";
    return { kind: "listed", zone, codes: answer.codes.slice(0, LIMITS.house.codesTold), text };
  }

  return {
    async check(address) {
      const answers = await Promise.all(zones.map((zone) => askZone(zone, address)));
      return findingOf(address, answers);
    },
  };
}

/** What strangers wrote, on one line and no longer than is read. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, LIMITS.house.textChars);
}

function findingOf(address: string, answers: readonly ZoneAnswer[]): Finding {
  const listed = answers.filter((answer) => answer.kind === "listed");
  const broken = answers.filter((answer) => answer.kind === "broken");
  const clear = answers.filter((answer) => answer.kind === "clear");
  const notes = broken.map(({ zone, why }) => ` ${zone} cannot be believed: ${why}.`).join("");
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
    };
  }
  if (clear.length === 0) {
    const seen = answers.length === 0 ? "No list is asked (DNSBL_ZONES)." : `No list could be asked.${notes}`;
    return fine("dnsbl", answers.length === 0 ? "skipped" : "unknown", "trust", seen);
  }
  const names = clear.map(({ zone }) => zone).join(", ");
  return fine("dnsbl", "pass", "trust", `${address} is not listed at ${names}.${notes}`);
}
