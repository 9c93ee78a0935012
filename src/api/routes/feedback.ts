import { LIMITS } from "../../config/limits/limits.ts";
import type { Feedback } from "../../features/feedback/feedback.ts";
import { AppError } from "../../platform/errors.ts";
import { LIST_ERROR_CODES } from "../../platform/job-errors.ts";
import { unsupportedCoding } from "../body/content-coding.ts";
import type { ParseLargeBody } from "../body/large-bodies.ts";
import type { HttpRequest } from "../request/request.ts";
import { collectedRoute, type Route, teamRoute } from "../routing/route.ts";
import {
  AccuracyQuerySchema,
  AccuracySchema,
  accuracyExample,
  FileQuerySchema,
  RecordedSchema,
  RecordFeedbackSchema,
  recordedExample,
  recordFeedbackExample,
} from "../schemas/feedback.ts";

const { bodyBytes, bodyMembers, bodyValues, eventsPerTeamDay, fileBytes, keptDays } = LIMITS.feedback;
const { bouncesReadHere, addressCharsReadHere, file: fileBounds } = LIMITS.feedback;
const MEMBERS = { tag: "feedback", role: "member" } as const;

const count = (number: number) => number.toLocaleString("en-US");

const COUNTED =
  "The same address with the same outcome on the same UTC day counts once, however often it is reported, so a request may be " +
  `repeated. Kept for ${keptDays} days, without the address: a hash of it and the team. A team may report ` +
  `${count(eventsPerTeamDay)} events a UTC day (409). Once they are used up, files, and requests of over ${bouncesReadHere} bounces or ` +
  `${count(addressCharsReadHere)} characters of addresses, are refused unread, even if all is known. So are they once a process has read those of the team for ` +
  `${LIMITS.feedbackThread.shareMsPerDay / 60_000} minutes on a UTC day, or those of its test keys. With a test key nothing is kept.`;

function recordRoute(feedback: Feedback, parseLarge: ParseLargeBody): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "write",
    method: "POST",
    path: "/v1/feedback",
    operationId: "recordFeedback",
    summary: "Report what became of messages",
    description:
      "Delivered, bounced or complained about: of messages that your team sent. Replies are read by the rules that read those of " +
      `mail servers. ${COUNTED} What is reported counts for your team alone; a hard bounce of an address that was answered ` +
      "`valid` also has the address probed again when it is next verified, on tiers that probe.",
    bodyBytes,
    bodyBounds: { members: bodyMembers, values: bodyValues },
    parseLarge: (bytes, owner) => parseLarge("recordFeedback", bytes, owner),
    errors: ["limit_reached"],
    body: RecordFeedbackSchema,
    bodyExample: recordFeedbackExample,
    success: {
      status: 200,
      description: "How many events count",
      schema: RecordedSchema,
      example: recordedExample,
    },
    handler: ({ body }, actor, context) => feedback.record(actor, body.events, () => context.cancelled()),
  });
}

/** Bodies with a file somewhere in them: `curl -d`, and forms. */
const WRAPPED = /^[ \t]*(?:application\/x-www-form-urlencoded|multipart\/form-data)[ \t]*(?:;|$)/i;

/** @throws AppError `unsupported_media_type` */
function requirePlainFile(headers: HttpRequest["headers"]): void {
  if (!/^[ \t]*(?:identity)?[ \t]*$/i.test(headers["content-encoding"] ?? "")) throw unsupportedCoding();
  if (WRAPPED.test(headers["content-type"] ?? ""))
    throw new AppError(
      "unsupported_media_type",
      "Send the file itself: `curl --data-binary @bounce.eml -H 'Content-Type: message/rfc822' …`.",
    );
}

const fileExample = [
  "From: MAILER-DAEMON@mail.example.com",
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
  "",
  "--b",
  "Content-Type: message/delivery-status",
  "",
  "Reporting-MTA: dns; mail.example.com",
  "",
  "Final-Recipient: rfc822; someone@example.com",
  "Action: failed",
  "Status: 5.1.1",
  "Diagnostic-Code: smtp; 550 5.1.1 User unknown",
  "",
  "--b--",
  "",
].join("\r\n");

function fileRoute(feedback: Feedback): Route {
  return collectedRoute({
    ...MEMBERS,
    rate: "write",
    bodyBytes: fileBytes,
    method: "POST",
    path: "/v1/feedback/files",
    operationId: "recordFeedbackFile",
    summary: "Report bounces as they came",
    description:
      "A bounce or complaint as your mail server received it (`message/rfc822`), many of them (mbox), or a table (CSV) with " +
      "a column of addresses and one of outcomes; which it is, is seen by its beginning. Read are delivery status " +
      "notifications (RFC 3464), complaints (RFC 5965), and the bounces of qmail and of Exim that are not machine-readable. Of a " +
      "table, columns such as `status`, `diagnostic`, `timestamp`, and those of a job's results (`rcpt_verdict`, `rcpt_reason`, " +
      `\`rcpt_mx_provider\`), are found by their names. ${COUNTED}`,
    errors: ["body_too_large", "limit_reached", "overloaded", "unsupported_media_type", ...LIST_ERROR_CODES],
    query: FileQuerySchema,
    bodyExample: fileExample,
    incomingBody:
      `At most ${count(fileBytes)} bytes and ${count(fileBounds.events)} events. The messages of an mbox may take ` +
      `${fileBounds.slowMailMs / 1_000} s to read, beside ${fileBounds.mailMs} ms for each (413).`,
    success: {
      status: 200,
      description: "How many events count",
      schema: RecordedSchema,
      example: recordedExample,
    },
    handler({ query, body }, actor, context) {
      requirePlainFile(context.headers);
      return feedback.recordFile(actor, body, query, () => context.cancelled());
    },
  });
}

function accuracyRoute(feedback: Feedback): Route {
  return teamRoute({
    ...MEMBERS,
    rate: "read",
    waitsElsewhere: true,
    method: "GET",
    path: "/v1/feedback/accuracy",
    operationId: "getAccuracy",
    summary: "How good the answers were",
    description:
      "What became of your team's messages, by what rcpt had answered about the address, as far as it was reported with the " +
      "event: rcpt does not keep what it has answered. The figures are up to a minute old; a test key is " +
      "shown none.",
    errors: ["overloaded"],
    query: AccuracyQuerySchema,
    success: { status: 200, description: "The counts", schema: AccuracySchema, example: accuracyExample },
    handler: ({ query }, actor) => feedback.accuracy(actor, query.days),
  });
}

export function createFeedbackRoutes(feedback: Feedback, parseLarge: ParseLargeBody): Route[] {
  return [recordRoute(feedback, parseLarge), fileRoute(feedback), accuracyRoute(feedback)];
}
