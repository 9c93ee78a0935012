import { Resolver } from "node:dns/promises";
import { measure } from "../cpu/cpu.ts";
import {
  CONNECTIONS,
  CONNECTIONS_PER_SITE,
  mxAddress,
  type PlannedAddress,
  planRun,
  SITES,
} from "../probing/plan.ts";
import { Dialogue } from "../probing/smtp-dialogue.ts";
import { answerParent } from "../setup/child.ts";

const EHLO = "EHLO bench.test\r\n";
const MAIL = "MAIL FROM:<>\r\n";
const RSET = "RSET\r\n";
const rcpt = (address: string) => `RCPT TO:<${address}>\r\n`;

/** True when the reply to RCPT is what the plan says. */
const isRight = (plan: PlannedAddress, code: string | undefined) => code === (plan.exists ? "250" : "550");

/** Addresses in one write and one round trip, a transaction each. */
async function askTogether(dialogue: Dialogue, plans: readonly PlannedAddress[]): Promise<number> {
  let text = "";
  for (const { address } of plans) text += MAIL + rcpt(address) + RSET;
  const codes = await dialogue.ask(text, plans.length * 3);
  return plans.filter((plan, at) => !isRight(plan, codes[at * 3 + 1])).length;
}

/** A connection that takes from its site's list until nothing is left. @returns wrong answers */
async function drainSite(site: number, port: number, left: PlannedAddress[], depth: number): Promise<number> {
  const dialogue = await Dialogue.open(mxAddress(site), port);
  await dialogue.ask(EHLO, 1);
  let wrong = 0;
  while (left.length > 0) {
    const plans = left.splice(-depth);
    wrong += await askTogether(dialogue, plans);
  }
  await dialogue.quit();
  return wrong;
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

const verbs = {
  /** Asks over as few connections as the engine may open, with `depth` addresses in flight on each; no other work. */
  async pooled({ run, count, depth, port }: { run: number; count: number; depth: number; port: number }) {
    const bySite = Array.from({ length: SITES }, (): PlannedAddress[] => []);
    for (const plan of planRun(run, count)) bySite[plan.site]?.push(plan);
    let wrong = 0;
    const sample = await measure(count, async () => {
      const sessions = bySite.flatMap((left, site) =>
        Array.from({ length: CONNECTIONS_PER_SITE }, () => drainSite(site, port, left, depth)),
      );
      wrong = sum(await Promise.all(sessions));
    });
    return { sample, wrong };
  },

  /** A connection for each address, as many at once: greeting, EHLO, MAIL, RCPT, QUIT. */
  async perAddress({ run, count, port }: { run: number; count: number; port: number }) {
    const left = planRun(run, count);
    async function worker(): Promise<number> {
      let wrong = 0;
      for (let plan = left.pop(); plan; plan = left.pop()) {
        const dialogue = await Dialogue.open(mxAddress(plan.site), port);
        await dialogue.ask(EHLO, 1);
        await dialogue.ask(MAIL, 1);
        const [code] = await dialogue.ask(rcpt(plan.address), 1);
        if (!isRight(plan, code)) wrong++;
        await dialogue.quit();
      }
      return wrong;
    }
    let wrong = 0;
    const sample = await measure(count, async () => {
      wrong = sum(await Promise.all(Array.from({ length: CONNECTIONS }, worker)));
    });
    return { sample, wrong };
  },

  /**
   * Everything that the engine does for one address of an unknown domain, and nothing else: MX, address, a connection,
   * the recipient and a catch-all probe. @returns milliseconds until the last answer; null where an answer is wrong
   */
  async single({ address, dnsServer, port }: { address: string; dnsServer: string; port: number }) {
    const domain = address.slice(address.lastIndexOf("@") + 1);
    const resolver = new Resolver();
    resolver.setServers([dnsServer]);
    const beganMs = performance.now();
    const [mx] = await resolver.resolveMx(domain);
    const [ip = ""] = await resolver.resolve4(mx?.exchange ?? "");
    const dialogue = await Dialogue.open(ip, port);
    await dialogue.ask(EHLO, 1);
    const [, known] = await dialogue.ask(MAIL + rcpt(address) + RSET, 3);
    const [, unknown] = await dialogue.ask(MAIL + rcpt(`nobody@${domain}`) + RSET, 3);
    const tookMs = performance.now() - beganMs;
    await dialogue.quit();
    return known === "250" && unknown === "550" ? tookMs : null;
  },
};

export type BareClient = typeof verbs;

answerParent(verbs, async () => {});
