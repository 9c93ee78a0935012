import type { Zone } from "../../test/support/mail-world/zone.ts";
import type { Internet } from "../sinks/mail.ts";
import {
  DOMAINS,
  domainName,
  loneAddress,
  loneDomain,
  mxAddress,
  mxName,
  SITES,
  siteOfDomain,
} from "./plan.ts";

export interface PlanInternet {
  /** For each world, the runs whose domains have their mail there. Each world has mail servers of its own. */
  worlds: readonly (readonly number[])[];
  /** Domains of each run. */
  domains?: number;
  /** Domains beside those of the runs, in world 0. */
  others?: readonly string[];
  /** Number of domains with an exchanger each; these come after all worlds. */
  lone?: number;
}

/** The mail servers of the plan, a world's sites one after the other. */
export function planInternet({ worlds, domains = DOMAINS, others = [], lone = 0 }: PlanInternet): Internet {
  const zone: Zone = new Map();
  const addresses: string[] = [];
  for (const [world, runs] of worlds.entries()) {
    for (let site = 0; site < SITES; site++) {
      zone.set(mxName(site, world), { a: [mxAddress(site, world)] });
      addresses.push(mxAddress(site, world));
    }
    for (const run of runs)
      for (let domain = 0; domain < domains; domain++)
        zone.set(domainName(run, domain), { mx: [[10, mxName(siteOfDomain(domain), world)]] });
  }
  for (const domain of others) zone.set(domain, { mx: [[10, mxName(0)]] });
  for (let index = 0; index < lone; index++) {
    const exchanger = `mx.${loneDomain(index)}`;
    zone.set(loneDomain(index), { mx: [[10, exchanger]] });
    zone.set(exchanger, { a: [loneAddress(index)] });
    addresses.push(loneAddress(index));
  }
  return { zone, addresses };
}
