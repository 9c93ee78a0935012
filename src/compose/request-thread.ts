import { systemClock } from "../core/clock.ts";
import type { LifecyclePart } from "../core/lifecycle.ts";
import { LIMITS } from "../core/limits.ts";
import type { Logger } from "../core/log.ts";
import { createRequestThread } from "../core/request-thread.ts";
import { workerFile } from "../core/worker-file.ts";
import type { ParseLargeBody } from "../http/large-bodies.ts";
import { type AnalyseInline, analyseInline, inlineBytes } from "../services/bulk/source.ts";
import type { DetectForPreview } from "../services/uploads/preview.ts";

/** What is done for requests off the event loop: by the functions of workers/request.ts. */
export interface RequestWork {
  parseLarge: ParseLargeBody;
  analyseInline: AnalyseInline;
  detectForPreview: DetectForPreview;
  part: LifecyclePart;
}

/** Sent without what else is in its memory. */
const copyBytes = (bytes: Uint8Array) => Uint8Array.from(bytes);
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length);

export function composeRequestWork(log: Logger): RequestWork {
  const thread = createRequestThread({ clock: systemClock, log, file: workerFile("request") });
  return {
    part: { name: "request thread", stop: () => thread.close() },
    parseLarge: (name, bytes, owner) =>
      thread.run("parseBody", { name, bytes }, owner, [bytes.buffer as ArrayBuffer]),
    async analyseInline(emails, options, teamId) {
      if (inlineBytes(emails) <= LIMITS.http.bodies.parsedHereBytes) return analyseInline(emails, options);
      const owner = { teamId, isCancelled: () => false };
      const found = await thread.run<Awaited<ReturnType<AnalyseInline>>>(
        "analyseList",
        { emails, options },
        owner,
      );
      return { ...found, content: bufferOf(found.content), repeats: bufferOf(found.repeats) };
    },
    detectForPreview: (head, options, owner) =>
      thread.run("detectTable", { head: copyBytes(head), options }, owner),
  };
}
