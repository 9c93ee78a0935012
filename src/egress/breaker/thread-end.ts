import type { BreakerAuthority } from "./authority.ts";
import type { BreakerReport, BreakerUpdate } from "./messages.ts";

/** The main thread's end of one check thread's line. */
export interface BreakerThread {
  receive(report: BreakerReport): void;
  /** The thread has ended: its trials are free for others. */
  close(): void;
}

export function attachBreakerThread(
  authority: BreakerAuthority,
  send: (news: BreakerUpdate) => void,
): BreakerThread {
  const tokens = new Set<string>();
  let isGone = false;
  const detach = authority.attach(send);

  async function seekTrial(id: number, key: string): Promise<void> {
    const { token, free, dueInMs } = await authority.requestTrial(key);
    if (token !== null && isGone) return authority.onTrialEnded(token, { kind: "ours" });
    if (token !== null) tokens.add(token);
    if (!isGone) send({ kind: "trial", id, token, free, dueInMs });
  }

  return {
    receive(report) {
      switch (report.type) {
        case "blocked":
          return authority.onBlocked(report.block);
        case "passed":
          return authority.onPassed(report.site, report.path, report.domain);
        case "trial":
          return void seekTrial(report.id, report.key);
        case "tried":
          if (tokens.delete(report.token)) authority.onTrialEnded(report.token, report.end);
      }
    },
    close() {
      isGone = true;
      detach();
      for (const token of tokens) authority.onTrialEnded(token, { kind: "ours" });
    },
  };
}
