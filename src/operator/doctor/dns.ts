import { randomBytes } from "node:crypto";
import { LIMITS } from "../../config/limits/limits.ts";
import { createResolver } from "../../dns/client.ts";
import type { DnsOutcome } from "../../dns/resolver.ts";
import { parseServerAddress } from "../../dns/server-address.ts";
import { askOverTcp } from "../../dns/tcp.ts";
import {
  type DoctorFinding,
  type DoctorGroup,
  type DoctorSubject,
  fail,
  ok,
  skipped,
  warn,
} from "./finding.ts";
import { concerns } from "./roles.ts";

/** These certainly have mail exchangers, and are queried constantly; the second where the first fails. */
const CERTAIN = ["gmail.com", "outlook.com"] as const;
/** A slower answer delays every address of a new domain. */
const LATENCY_FAR_MS = 200;
/** Servers to check. */
const SERVERS_MOST = 8;

export interface DnsFacts {
  server: string;
  latencyMs: number;
  known: DnsOutcome<unknown>["status"];
  /** Answer for a name that does not exist. */
  absent: { status: DnsOutcome<unknown>["status"]; proven: boolean };
  /** True when the server also answers over TCP. */
  tcp: boolean;
}

/** The quality of one server. Pure. */
export function judgeServer({ server, latencyMs, known, absent, tcp }: DnsFacts): DoctorFinding[] {
  const check = server;
  if (known === "no_answer" || known === "server_failure")
    return [
      fail(
        check,
        known === "no_answer" ? "It does not answer." : `It cannot answer for ${CERTAIN[0]}.`,
        "Let DNS_SERVERS name recursive resolvers that this machine may ask (UDP and TCP, port 53).",
      ),
    ];
  if (known !== "ok")
    return [
      fail(
        check,
        `It knows no mail exchanger of ${CERTAIN[0]}: it filters, or is cut off from the internet.`,
        "Let DNS_SERVERS name resolvers that know the internet: every domain is answered dns_error meanwhile.",
      ),
    ];
  const found: DoctorFinding[] = [];
  if (absent.status === "ok")
    found.push(
      fail(
        check,
        "It makes up answers for names that do not exist.",
        "Let DNS_SERVERS name a resolver that does not.",
      ),
    );
  else if (absent.status === "no_answer" || absent.status === "server_failure")
    found.push(
      warn(
        check,
        "It could not say of a name that does not exist that it does not.",
        "Let DNS_SERVERS name a resolver that asks the internet itself: mistyped domains are answered dns_error meanwhile.",
      ),
    );
  else if (!absent.proven)
    found.push(
      warn(
        check,
        "It says that a name does not exist without the proof that its zone gives (SOA): we ask about well-known names each time.",
        "Let DNS_SERVERS name a resolver that passes on authority sections (unbound, BIND, Knot).",
      ),
    );
  if (!tcp)
    found.push(
      warn(
        check,
        "It does not answer over TCP: long answers (many exchangers, SPF) are lost.",
        "Open TCP port 53 to it.",
      ),
    );
  if (latencyMs > LATENCY_FAR_MS)
    found.push(
      warn(
        check,
        `It took ${Math.round(latencyMs)} ms for ${CERTAIN[0]}.`,
        "Run a resolver on this machine or beside it, e.g. unbound.",
      ),
    );
  if (found.length > 0) return found;
  return [ok(check, `It answers in ${latencyMs.toFixed(1)} ms, with proof of absence, over TCP too.`)];
}

async function lookAt(
  server: string,
  { clock }: DoctorSubject,
  close: (fn: () => unknown) => void,
): Promise<DnsFacts> {
  const resolver = createResolver({ servers: [server], clock });
  close(() => resolver.close());
  const begun = clock.monotonic();
  const first = await resolver.mx(CERTAIN[0]);
  const latencyMs = clock.monotonic() - begun;
  const known = first.status === "ok" ? first : await resolver.mx(CERTAIN[1]);
  const absent = await resolver.mx(`${randomBytes(12).toString("hex")}.${CERTAIN[0]}`);
  const untilMs = clock.monotonic() + LIMITS.dns.attemptTimeoutMs;
  const query = askOverTcp(parseServerAddress(server), { name: CERTAIN[0], type: "MX" }, clock, untilMs);
  close(() => query.abort());
  const { kind } = await query.result;
  const proven = "proven" in absent && absent.proven;
  return {
    server,
    latencyMs,
    known: known.status,
    absent: { status: absent.status, proven },
    tcp: kind === "answer",
  };
}

export const DNS_GROUP: DoctorGroup = {
  name: "dns",
  title: "DNS",
  async examine(subject, { note, atEnd }) {
    const { servers } = subject.config.dns;
    if (!concerns(subject.config.role, "probes"))
      return note(skipped("servers", "A relay looks up no domains."));
    if (servers.length === 0)
      return note(fail("servers", "No DNS server is configured.", "Set DNS_SERVERS, or /etc/resolv.conf."));
    const looked = servers.slice(0, SERVERS_MOST).map((server) => lookAt(server, subject, atEnd));
    for (const facts of await Promise.all(looked)) note(...judgeServer(facts));
    if (servers.length > SERVERS_MOST)
      note(skipped("servers", `${servers.length - SERVERS_MOST} more servers were not looked at.`));
  },
};
