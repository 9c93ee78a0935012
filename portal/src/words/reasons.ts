import type { operations } from "../api/schema.d.ts";

export type VerificationResult = operations["verifyAddress"]["responses"][200]["content"]["application/json"];
export type Reason = VerificationResult["reason"];
export type Verdict = VerificationResult["verdict"];
type Fault = NonNullable<VerificationResult["checks"]["smtp"]["fault"]>;

interface ReasonWords {
  /** The one that it comes with. */
  verdict: Verdict;
  /** Why, as one sentence. */
  says: string;
  /** Advice for the person. */
  advice: string;
}

const TRY_LATER = "Ask again later; nothing was charged.";

/** Texts for every reason of the API: a new reason without texts does not compile. */
export const REASONS: Readonly<Record<Reason, ReasonWords>> = {
  empty: { verdict: "unknown", says: "There is no text.", advice: "Enter an address." },
  several_addresses: {
    verdict: "invalid",
    says: "The text holds several addresses.",
    advice: "Verify them one by one, or as a list.",
  },
  invalid_format: {
    verdict: "invalid",
    says: "This is no mail address.",
    advice: "Look for a typing mistake.",
  },
  blocklisted_domain: {
    verdict: "risky",
    says: "Your team has blocked this domain, so no server was asked.",
    advice: "Take it off the blocklist to have it checked.",
  },
  domain_not_found: {
    verdict: "invalid",
    says: "The domain does not exist.",
    advice: "Do not send: it would bounce.",
  },
  no_mx: {
    verdict: "invalid",
    says: "The domain has no mail server.",
    advice: "Do not send: it would bounce.",
  },
  null_mx: {
    verdict: "invalid",
    says: "The domain says that it takes no mail.",
    advice: "Do not send: it would bounce.",
  },
  mx_unresolvable: {
    verdict: "invalid",
    says: "None of the mail servers that the domain names can exist.",
    advice: "Do not send: it would bounce.",
  },
  disposable_domain: {
    verdict: "risky",
    says: "The domain hands out disposable (throw-away) addresses.",
    advice: "Ask for a lasting address.",
  },
  role_address: {
    verdict: "risky",
    says: "A role address, such as sales@ or support@: it belongs to a function, not to a person.",
    advice: "Fine for a reply; careful with newsletters.",
  },
  low_reputation: {
    verdict: "risky",
    says: "Much about the domain or the name speaks against it.",
    advice: "Look at the reputation signals before you send.",
  },
  dns_error: { verdict: "unknown", says: "The name servers of the domain do not answer.", advice: TRY_LATER },
  smtp_not_requested: {
    verdict: "unknown",
    says: "Nothing speaks against it; its mail server was not asked, as you wished.",
    advice: "Verify it with a probe to know about the mailbox.",
  },
  smtp_not_in_tier: {
    verdict: "unknown",
    says: "Nothing speaks against it; its mail server is not asked in your plan.",
    advice: "A plan that asks mail servers tells whether the mailbox exists.",
  },
  mailbox_not_found: {
    verdict: "invalid",
    says: "Its mail server says: there is no such mailbox.",
    advice: "Do not send: it would bounce.",
  },
  mailbox_disabled: {
    verdict: "invalid",
    says: "Its mail server says: the mailbox is closed.",
    advice: "Do not send: it would bounce.",
  },
  mailbox_full: {
    verdict: "risky",
    says: "The mailbox is full.",
    advice: "It exists, but may no longer be read.",
  },
  refused_by_policy: {
    verdict: "unknown",
    says: "Its mail server refused for a reason that is not the mailbox.",
    advice: "Whether the mailbox exists is not known.",
  },
  sender_blocked: {
    verdict: "unknown",
    says: "Its mail server refuses the address that we ask from.",
    advice: "This says nothing of the mailbox. The operator's preflight tells why we are refused.",
  },
  greylisted: {
    verdict: "unknown",
    says: "Its mail server tells every new sender to come back later.",
    advice: "We ask again by ourselves.",
  },
  rate_limited_by_server: {
    verdict: "unknown",
    says: "Its mail server takes no more questions for now.",
    advice: TRY_LATER,
  },
  smtp_protocol_error: {
    verdict: "unknown",
    says: "Its mail server put us off, or broke off.",
    advice: TRY_LATER,
  },
  no_connect: { verdict: "unknown", says: "None of its mail servers takes a connection.", advice: TRY_LATER },
  timeout: { verdict: "unknown", says: "Its mail server did not answer in time.", advice: TRY_LATER },
  our_network: { verdict: "unknown", says: "Our own network had a fault.", advice: TRY_LATER },
  provider_unverifiable: {
    verdict: "unknown",
    says: "Its provider gives every address the same answer.",
    advice: "Only a message can tell whether the mailbox exists.",
  },
  catch_all: {
    verdict: "risky",
    says: "Its mail server accepts every address of the domain (catch-all).",
    advice: "Only a message can tell whether the mailbox exists.",
  },
  catch_all_unconfirmed: {
    verdict: "risky",
    says: "It was accepted, but perhaps so is every address of the domain.",
    advice: "Likely good; not proven.",
  },
  accepted_mailbox: {
    verdict: "valid",
    says: "Its mail server accepts this address, and refused one that cannot exist.",
    advice: "Safe to send to.",
  },
  deadline: {
    verdict: "unknown",
    says: "The answer was due before the check had ended.",
    advice: "Ask again: we went on checking.",
  },
  internal_error: { verdict: "unknown", says: "A fault of ours.", advice: TRY_LATER },
};

export const VERDICTS: Readonly<Record<Verdict, string>> = {
  valid: "Valid",
  invalid: "Invalid",
  risky: "Risky",
  unknown: "Unknown",
};

/** Advice for addresses of a verdict; each reason's text has details. */
export const VERDICT_ADVICE: Readonly<Record<Verdict, string>> = {
  valid: "Safe to send to.",
  invalid: "Do not send as it stands: it would bounce, or is not one address.",
  risky: "Exists or may exist: decide by the reason.",
  unknown: "Not proven either way: the reason says why.",
};

/** Who caused the failure. */
export const FAULTS: Readonly<Record<Fault, string>> = {
  recipient: "the recipient's",
  their_server: "their server's",
  our_address: "the address we ask from",
  our_network: "our network's",
  ours: "ours",
};
