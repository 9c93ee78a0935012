import type { ParseLargeBody } from "../api/body/large-bodies.ts";
import { LIMITS } from "../config/limits/limits.ts";
import { type AnalyseInline, analyseInline, inlineBytes } from "../features/bulk/submit/source.ts";
import type { FeedbackReading } from "../features/feedback/feedback.ts";
import { type ReadDomains, readDomains } from "../features/overrides/read-domains.ts";
import type { ReadPreview } from "../features/uploads/preview.ts";
import { serveReads } from "../features/uploads/remote-bytes.ts";
import type { LifecyclePart } from "../platform/lifecycle.ts";
import type { Logger } from "../platform/log.ts";
import { createRequestThread, type RequestThreadLimits } from "../platform/request-thread.ts";
import { systemClock } from "../platform/time/clock.ts";
import { workerFile } from "../platform/worker-file.ts";

/** The functions of workers/request.ts, which do a request's long work off the event loop. */
export interface RequestWork {
  parseLarge: ParseLargeBody;
  analyseInline: AnalyseInline;
  readDomains: ReadDomains;
  readPreview: ReadPreview;
  feedback: FeedbackReading;
  part: LifecyclePart;
}

const bufferOf = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length);

export function composeRequestWork(log: Logger): RequestWork {
  const threadWith = (limits: RequestThreadLimits) =>
    createRequestThread({ clock: systemClock, log, file: workerFile("request"), limits });
  const thread = threadWith(LIMITS.requestThread);
  // Bounces and workbooks take seconds to read, and previews wait for object storage: others' bodies must not wait for them.
  const feedbackThread = threadWith(LIMITS.feedbackThread);
  const previewThread = threadWith(LIMITS.previewThread);
  return {
    part: {
      name: "request threads",
      async stop() {
        await Promise.all([thread.close(), feedbackThread.close(), previewThread.close()]);
      },
    },
    parseLarge: (name, bytes, owner) =>
      thread.run("parseBody", { name, bytes }, owner, [bytes.buffer as ArrayBuffer]),
    async analyseInline(emails, options, share) {
      const { rows, bytes } = LIMITS.bulk.inlineHere;
      if (emails.length <= rows && inlineBytes(emails) <= bytes) return analyseInline(emails, options);
      const owner = { share, isCancelled: () => false };
      const found = await thread.run<Awaited<ReturnType<AnalyseInline>>>(
        "analyseList",
        { emails, options },
        owner,
      );
      return { ...found, content: bufferOf(found.content), repeats: bufferOf(found.repeats) };
    },
    readDomains: async (texts, share) =>
      texts.length <= LIMITS.overrides.domainsReadHere
        ? readDomains(texts)
        : thread.run("readDomains", { texts }, { share, isCancelled: () => false }),
    readPreview: (input, readBytes, owner) =>
      serveReads(readBytes, (port) => previewThread.run("readPreview", { input, port }, owner, [port])),
    feedback: {
      requireTime: (share) => feedbackThread.requireTime(share),
      readFile: (bytes, options, terms, owner) =>
        feedbackThread.run("readFeedbackFile", { bytes, options, terms }, owner, [bytes.buffer]),
      readEvents: (events, terms, owner) =>
        feedbackThread.run("readFeedbackEvents", { events, terms }, owner),
    },
  };
}
