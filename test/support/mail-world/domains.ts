import type { HostProfile } from "./profile.ts";
import type { DnsFault, Zone, ZoneEntry } from "./zone.ts";

/** Loopback addresses on which nothing listens: a connection is refused. */
export const DEAD_ADDRESSES = ["127.0.0.2", "127.0.0.3"] as const;
const PLAIN = "mx.plain.test";
const MANY_HOSTS = 100;
const HUGE_RECORDS = 1_000;

const mxFault = (fault: DnsFault): ZoneEntry => ({ mx: [[10, PLAIN]], faults: { MX: fault } });

/**
 * Domains beside the one of each host. `plain` is the address of the well-behaved host: a resolver that wrongly falls
 * back from MX to A finds a server there that accepts, and the test fails.
 */
function domainEntries(plain: string): Record<string, ZoneEntry> {
  const [dead1, dead2] = DEAD_ADDRESSES;
  return {
    "alpha.test": { mx: [[10, "mx-a.provider.test"]] },
    "beta.test": { mx: [[10, "mx-b.provider.test"]] },
    "dead-1.hosts.test": { a: [dead1] },
    "dead-2.hosts.test": { a: [dead2] },
    "preferences.test": {
      mx: [
        [30, "mx.catchall.test"],
        [10, PLAIN],
        [20, "mx.catchall.test"],
      ],
    },
    "failover.test": {
      mx: [
        [10, "dead-1.hosts.test"],
        [20, PLAIN],
      ],
    },
    "failover-address.test": { mx: [[10, "two-addresses.hosts.test"]] },
    "two-addresses.hosts.test": { a: [dead1, plain] },
    "failover-busy.test": {
      mx: [
        [10, "mx.busy-connect.test"],
        [20, PLAIN],
      ],
    },
    ...Object.fromEntries(
      [
        ["failover-too-many.test", "mx.too-many.test"],
        ["failover-ehlo.test", "mx.later-ehlo.test"],
        ["failover-mail.test", "mx.rate-mail.test"],
        ["failover-mail-drop.test", "mx.drop-mail.test"],
        ["failover-rcpt.test", "mx.greylist.test"],
        ["failover-rcpt-drop.test", "mx.drop-rcpt.test"],
      ].map(([domain = "", first = ""]) => [
        domain,
        {
          mx: [
            [10, first],
            [20, PLAIN],
          ],
        } as ZoneEntry,
      ]),
    ),
    "failover-fifth.test": {
      mx: [
        [10, "dead-1.hosts.test"],
        [20, "nowhere.hosts.test"],
        [30, "dead-2.hosts.test"],
        [40, "mx.drop-connect.test"],
        [50, PLAIN],
      ],
    },
    "failover-drop.test": {
      mx: [
        [10, "mx.drop-connect.test"],
        [20, PLAIN],
      ],
    },
    "failover-silent.test": {
      mx: [
        [10, "mx.tarpit-connect.test"],
        [20, PLAIN],
      ],
    },
    "failover-noaddress.test": {
      mx: [
        [10, "nowhere.hosts.test"],
        [20, PLAIN],
      ],
    },
    "dead.test": {
      mx: [
        [10, "dead-1.hosts.test"],
        [20, "dead-2.hosts.test"],
      ],
    },
    "implicit.test": { a: [plain], txt: ["v=spf1 a -all"] },
    "_dmarc.implicit.test": { txt: ["v=DMARC1; p=none"] },
    "implicit-aaaa.test": { aaaa: ["::1"] },
    "nullmx.test": { mx: [[0, "."]], a: [plain] },
    "nodata.test": {},
    "servfail.test": { ...mxFault("servfail"), a: [plain] },
    "refused.test": { ...mxFault("refused"), a: [plain] },
    "notimp.test": { ...mxFault("notimp"), a: [plain] },
    "silent.test": { ...mxFault("silent"), a: [plain] },
    "garbage-dns.test": { ...mxFault("garbage"), a: [plain] },
    "truncated.test": mxFault("truncated"),
    "truncated-for-good.test": { ...mxFault("truncated_for_good"), a: [plain] },
    "spoofed.test": mxFault("spoofed"),
    "forged.test": { ...mxFault("forged"), a: [plain] },
    "unproven.test": { ...mxFault("nxdomain_unproven"), a: [plain] },
    "proven-by-another.test": { ...mxFault("nxdomain_of_another"), a: [plain] },
    "implicit-servfail.test": { faults: { A: "servfail", AAAA: "servfail" } },
    "cname.test": { cname: "cname-2.test" },
    "cname-2.test": { cname: "Cname-3.test" },
    "cname-3.test": { mx: [[10, PLAIN]] },
    "cname-loop.test": { cname: "cname-loop-2.test" },
    "cname-loop-2.test": { cname: "cname-loop.test" },
    "cname-nowhere.test": { cname: "nowhere.test" },
    "mx-cname.test": { mx: [[10, "alias.hosts.test"]] },
    "alias.hosts.test": { cname: PLAIN },
    "mx-self.test": { mx: [[10, "mx-self.test"]], a: [plain] },
    "mx-self-noaddress.test": { mx: [[10, "mx-self-noaddress.test"]] },
    "mx-noaddress.test": { mx: [[10, "nodata.test"]] },
    "mx-nxdomain.test": { mx: [[10, "nowhere.hosts.test"]] },
    "mx-cname-loop.test": { mx: [[10, "circle.hosts.test"]] },
    "circle.hosts.test": { cname: "circle-2.hosts.test" },
    "circle-2.hosts.test": { cname: "circle.hosts.test" },
    "mx-all-absent.test": {
      mx: [
        [10, "nowhere.hosts.test"],
        [20, "nodata.test"],
        [30, "localhost"],
        [40, "0.0.0.0"],
      ],
    },
    "mx-half-absent.test": {
      mx: [
        [10, "nowhere.hosts.test"],
        [20, "servfail.hosts.test"],
      ],
    },
    "servfail.hosts.test": { faults: { A: "servfail", AAAA: "servfail" } },
    "mx-unproven.test": { mx: [[10, "unproven.hosts.test"]] },
    "unproven.hosts.test": { faults: { A: "nxdomain_unproven", AAAA: "nxdomain_unproven" } },
    "mx-localhost.test": { mx: [[10, "localhost"]] },
    "mx-zero-literal.test": { mx: [[10, "0.0.0.0"]] },
    "implicit-nxdomain.test": { faults: { MX: "nxdomain" }, a: [plain] },
    "implicit-zero.test": { a: ["0.0.0.0"] },
    "mx-literal.test": { mx: [[10, plain]] },
    "mx-private.test": { mx: [[10, "ten.hosts.test"]] },
    "ten.hosts.test": { a: ["10.0.0.1"] },
    "mx-zero.test": { mx: [[10, "zero.hosts.test"]] },
    "zero.hosts.test": { a: ["0.0.0.0"] },
    "mx-loopback.test": { mx: [[10, "mx.trap.test"]] },
    "mx-hundred.test": {
      mx: Array.from({ length: MANY_HOSTS }, (_, i) => [i, `h${i}.hundred.hosts.test`] as [number, string]),
    },
    "huge.test": {
      mx: [
        [1, PLAIN],
        ...Array.from(
          { length: HUGE_RECORDS },
          (_, i) => [i + 2, `m${i}.huge.hosts.test`] as [number, string],
        ),
      ],
    },
    "mixed-case.test": { mx: [[10, "MX.Plain.TEST"]] },
    "short-ttl.test": { mx: [[10, PLAIN]], ttlS: 5 },
    "long-ttl.test": { mx: [[10, PLAIN]], ttlS: 604_800 },
    "zero-ttl.test": { mx: [[10, PLAIN]], ttlS: 0 },
    "short-negative.test": { negativeTtlS: 5 },
    "unsigned.test": { mx: [[10, PLAIN]], txt: [] },
    "_dmarc.unsigned.test": { txt: [] },
    "texts-silent.test": { mx: [[10, PLAIN]], faults: { TXT: "silent" } },
    "_dmarc.texts-silent.test": { faults: { TXT: "silent" } },
    "texts-servfail.test": { mx: [[10, PLAIN]], faults: { TXT: "servfail" } },
    "_dmarc.texts-servfail.test": { faults: { TXT: "servfail" } },
    "parked.test": { mx: [[10, "localhost"]] },
    "throw-away.test": { mx: [[10, "mail.wabblywabble.com"]] },
    // Domain block lists: one that works, and one that refuses the query.
    "listed.test": { mx: [[10, PLAIN]] },
    "listed.test.dbl.test": { a: ["127.0.1.2"] },
    "plain.test.dbl.test": { a: ["127.255.255.254"] },
  };
}

/** The zone `.test`: an A record for each host, an MX for the domain of each `mx.` host, and the rest. */
export function buildZone(hosts: { profile: HostProfile; address: string }[]): Zone {
  const zone: Zone = new Map();
  let plain = "";
  for (const { profile, address } of hosts) {
    if (profile.name === PLAIN) plain = address;
    zone.set(profile.name, { a: [address] });
    if (profile.name.startsWith("mx.")) zone.set(profile.name.slice(3), { mx: [[10, profile.name]] });
  }
  for (const [name, entry] of Object.entries(domainEntries(plain))) zone.set(name, entry);
  for (let i = 0; i < MANY_HOSTS; i++) zone.set(`h${i}.hundred.hosts.test`, { a: [DEAD_ADDRESSES[0]] });
  return zone;
}
