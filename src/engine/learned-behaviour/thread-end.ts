import type { BehaviourAuthority } from "./authority.ts";
import type { BehaviourReport, BehaviourUpdate, RefusalRuling } from "./messages.ts";

/** The main thread's end of one check thread's line. */
export interface BehaviourThread {
  receive(report: BehaviourReport): void;
  /** The thread is gone: the controls that it was running are abandoned. */
  close(): void;
}

export function attachBehaviourThread(
  authority: BehaviourAuthority,
  send: (news: BehaviourUpdate) => void,
): BehaviourThread {
  const controls = new Set<string>();
  let isGone = false;
  const detach = authority.attach(send);

  async function answer(
    id: number,
    site: string,
    said: RefusalRuling | Promise<RefusalRuling>,
  ): Promise<void> {
    const say = said instanceof Promise ? await said : said;
    if (say.kind === "control") controls.add(site);
    if (isGone) return say.kind === "control" ? authority.onControlAbandoned(site) : undefined;
    send({ kind: "said", id, say });
  }

  return {
    receive(report) {
      if (report.type === "accepted") authority.onAccepted(report.site, report.domain);
      else if (report.type === "refuses") authority.noteRefusal(report.site);
      else if (report.type === "refused")
        void answer(report.id, report.site, authority.onRefused(report.site, report.sightings));
      else {
        controls.delete(report.site);
        void answer(report.id, report.site, authority.onControlAnswered(report.site, report.answer));
      }
    },
    close() {
      isGone = true;
      detach();
      for (const site of controls) authority.onControlAbandoned(site);
    },
  };
}
