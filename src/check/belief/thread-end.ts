import type { BeliefAuthority } from "./authority.ts";
import type { BeliefNews, BeliefReport, Say } from "./messages.ts";

/** The main thread's end of one check thread's line. */
export interface BeliefThread {
  receive(report: BeliefReport): void;
  /** The thread is gone, and the controls that it was asking are nobody's. */
  gone(): void;
}

export function attachThread(authority: BeliefAuthority, send: (news: BeliefNews) => void): BeliefThread {
  const controls = new Set<string>();
  let isGone = false;
  const detach = authority.attach(send);

  async function answer(id: number, site: string, said: Say | Promise<Say>): Promise<void> {
    const say = said instanceof Promise ? await said : said;
    if (say.kind === "control") controls.add(site);
    if (isGone) return say.kind === "control" ? authority.abandoned(site) : undefined;
    send({ kind: "said", id, say });
  }

  return {
    receive(report) {
      if (report.type === "accepted") authority.accepted(report.site, report.domain);
      else if (report.type === "refuses") authority.refuses(report.site);
      else if (report.type === "refused")
        void answer(report.id, report.site, authority.refused(report.site, report.sightings));
      else {
        controls.delete(report.site);
        void answer(report.id, report.site, authority.controlled(report.site, report.answer));
      }
    },
    gone() {
      isGone = true;
      detach();
      for (const site of controls) authority.abandoned(site);
    },
  };
}
