import PostalMime, { type Email } from "postal-mime";
import { LIMITS } from "../../../config/limits/limits.ts";
import { NO_ANSWER, type ReportedEvent } from "../event.ts";
import { readBounce } from "./bounce-class.ts";
import { addressOf, dateOf, type FieldGroup, fieldOf, mtaHostOf, readFieldGroups } from "./fields.ts";
import { readProse } from "./prose.ts";

const { messageBytes, messageDepth, messageHeaderBytes, recipientsPerMessage } = LIMITS.feedback;

const STATUS_TYPES = ["message/delivery-status", "message/global-delivery-status"];
const FEEDBACK_TYPE = "message/feedback-report";
const RETURNED_TYPES = ["message/rfc822", "message/global", "text/rfc822-headers", "message/rfc822-headers"];

/** The actions of RFC 3464 §2.3.3 that are final; a delayed, relayed or expanded message may still be delivered. */
const OUTCOME_OF_ACTION: Readonly<Record<string, "bounced" | "delivered">> = {
  failed: "bounced",
  delivered: "delivered",
};

/** A part of one of the types, as text; null: there is none. */
function partOf(email: Email, types: readonly string[]): string | null {
  const part = email.attachments.find(({ mimeType }) => types.includes(mimeType));
  if (part === undefined || typeof part.content === "string") return part?.content?.toString() ?? null;
  return Buffer.from(part.content as Uint8Array).toString("utf8");
}

function statusEvent(group: FieldGroup, reportedMs: number | null): ReportedEvent | null {
  const outcome = OUTCOME_OF_ACTION[fieldOf(group, "action").toLowerCase().split(/[\s(]/, 1)[0] ?? ""];
  const address =
    addressOf(fieldOf(group, "original-recipient")) || addressOf(fieldOf(group, "final-recipient"));
  if (outcome === undefined || address === "") return null;
  const code = /^[245]\.[0-9]{1,3}\.[0-9]{1,3}/.exec(fieldOf(group, "status"))?.[0] ?? null;
  const statement = {
    reply: fieldOf(group, "diagnostic-code"),
    enhancedCode: code,
    permanent: true,
    mxHost: mtaHostOf(fieldOf(group, "remote-mta")),
  };
  return {
    ...NO_ANSWER,
    address,
    outcome,
    atMs: dateOf(fieldOf(group, "last-attempt-date")) ?? reportedMs,
    bounce: outcome === "bounced" ? readBounce(statement) : null,
  };
}

/** RFC 3464: a group about the message, then one for each recipient. */
function readDeliveryStatus(text: string, sentMs: number | null): ReportedEvent[] {
  const groups = readFieldGroups(text, recipientsPerMessage + 1);
  const arrival = groups.map((group) => fieldOf(group, "arrival-date")).find((value) => value !== "") ?? "";
  const reportedMs = sentMs ?? dateOf(arrival);
  return groups.flatMap((group) => statusEvent(group, reportedMs) ?? []);
}

/** The single recipient of the returned message; [] if it had several, or is missing. */
function returnedRecipient(email: Email): string[] {
  const returned = partOf(email, RETURNED_TYPES);
  const [header] = returned === null ? [] : readFieldGroups(returned, 1);
  const to = header === undefined ? "" : fieldOf(header, "to");
  const found = /^(?:[^<>,;]*<)?([^\s<>,;@]+@[^\s<>,;@]+)>?$/.exec(to.slice(0, 1_000).trim());
  return found?.[1] === undefined ? [] : [found[1]];
}

/** RFC 5965: a complaint by the recipient, unless it says that the message was no spam after all. */
function readComplaint(email: Email, text: string, sentMs: number | null): ReportedEvent[] {
  const [report] = readFieldGroups(text, 1);
  if (report === undefined || fieldOf(report, "feedback-type").toLowerCase() === "not-spam") return [];
  const named = report.get("original-rcpt-to") ?? report.get("removal-recipient") ?? [];
  const addresses = named.length > 0 ? named.map(addressOf) : returnedRecipient(email);
  const atMs = dateOf(fieldOf(report, "arrival-date")) ?? dateOf(fieldOf(report, "received-date")) ?? sentMs;
  return addresses
    .slice(0, recipientsPerMessage)
    .map((address) => ({ ...NO_ANSWER, address, outcome: "complained", atMs, bounce: null }));
}

/**
 * Reads the events that a message reports: a delivery status notification (RFC 3464, also RFC 6533), a complaint (RFC
 * 5965), or a bounce in prose (qmail, older Exim). Reads its first LIMITS.feedback.messageBytes.
 * @returns one event for each recipient that it names; []: it is not a report, or reports nothing final
 */
export async function readMessage(bytes: Uint8Array): Promise<ReportedEvent[]> {
  const email = await parse(bytes.subarray(0, messageBytes));
  if (email === null) return [];
  const sentMs = email.date === undefined ? null : dateOf(email.date);
  const complaint = partOf(email, [FEEDBACK_TYPE]);
  if (complaint !== null) return readComplaint(email, complaint, sentMs);
  const status = partOf(email, STATUS_TYPES);
  return status === null ? readProse(email, sentMs) : readDeliveryStatus(status, sentMs);
}

/** null: it exceeds a bound. */
async function parse(bytes: Uint8Array): Promise<Email | null> {
  try {
    return await PostalMime.parse(bytes, {
      forceRfc822Attachments: true,
      maxNestingDepth: messageDepth,
      maxHeadersSize: messageHeaderBytes,
    });
  } catch {
    return null;
  }
}
