import type { BreakerAuthority } from "./authority.ts";
import type { BreakerNews, BreakerReport } from "./messages.ts";

/** The main thread's end of one check thread's line. */
export interface BreakerThread {
  receive(report: BreakerReport): void;
  /** The thread is gone, and the trials that it had are others'. */
  gone(): void;
}

export function attachThread(authority: BreakerAuthority, send: (news: BreakerNews) => void): BreakerThread {
  const tokens = new Set<string>();
  let isGone = false;
  const detach = authority.attach(send);

  async function seekTrial(id: number, key: string): Promise<void> {
    const { token, free, dueInMs } = await authority.seekTrial(key);
    if (token !== null && isGone) return authority.tried(token, { kind: "ours" });
    if (token !== null) tokens.add(token);
    if (!isGone) send({ kind: "trial", id, token, free, dueInMs });
  }

  return {
    receive(report) {
      switch (report.type) {
        case "blocked":
          return authority.blocked(report.block);
        case "passed":
          return authority.passed(report.site, report.path, report.domain);
        case "trial":
          return void seekTrial(report.id, report.key);
        case "tried":
          if (tokens.delete(report.token)) authority.tried(report.token, report.end);
      }
    },
    gone() {
      isGone = true;
      detach();
      for (const token of tokens) authority.tried(token, { kind: "ours" });
    },
  };
}
