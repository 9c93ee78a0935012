import type { CatchAll, MxStatus, SmtpClass } from "../../../verification/evidence.ts";
import type { AliasKind } from "../../../verification/mailbox/normal-form.ts";
import { SIGNAL_PENALTY, type Signal } from "../../../verification/verdict/reputation.ts";
import {
  type Reason,
  VERDICT_ROWS,
  type Verdict,
  type VerdictFault,
} from "../../../verification/verdict/table.ts";

/** The closed lists of the result, for its description. */
export const REASONS: readonly Reason[] = [...new Set(Object.values(VERDICT_ROWS).map((row) => row.reason))];
export const SIGNALS = Object.keys(SIGNAL_PENALTY) as readonly Signal[];

type SmtpStatus = SmtpClass | "skipped";
export const SMTP_STATUSES = namesOf<SmtpStatus>({
  accepted: true,
  mailbox_not_found: true,
  mailbox_disabled: true,
  mailbox_full: true,
  refused_by_policy: true,
  sender_blocked: true,
  greylisted: true,
  rate_limited_by_server: true,
  smtp_protocol_error: true,
  no_connect: true,
  timeout: true,
  our_network: true,
  provider_unverifiable: true,
  skipped: true,
});

export const MX_STATUSES = namesOf<MxStatus>({
  ok: true,
  implicit: true,
  no_mx: true,
  mx_unresolvable: true,
  null_mx: true,
  domain_not_found: true,
  dns_error: true,
  skipped: true,
});

/** Status of a look-up in our own data. */
export const LOOKUP_STATUSES = ["checked", "skipped"] as const;
type LookupStatus = (typeof LOOKUP_STATUSES)[number];

export const ALIAS_KINDS = namesOf<AliasKind>({
  plus_tag: true,
  hyphen_tag: true,
  subdomain: true,
  alias_service: true,
});

/** Every name of a union, as the compiler sees to. */
function namesOf<T extends string>(names: Record<T, true>): readonly T[] {
  return Object.keys(names) as T[];
}

interface MxRecordView {
  host: string;
  /** null: kept by a build that did not note it. */
  preference: number | null;
}

export interface VerificationResult {
  email: string;
  /** The text as given, if it had more than the address. */
  input?: string;
  /** One form for all spellings of one mailbox; null: the text is not an address. */
  normalized_email: string | null;
  verdict: Verdict;
  reason: Reason;
  risk_score: number;
  did_you_mean: string | null;
  checks: {
    format: { ok: boolean };
    mx: { ok: boolean; hosts: string[]; records: MxRecordView[]; provider: string | null; status: MxStatus };
    disposable: { is_disposable: boolean; source: string; status: LookupStatus };
    alias: {
      is_alias: boolean;
      kind: AliasKind | null;
      service: string | null;
      status: LookupStatus;
    };
    free_provider: { is_free_provider: boolean; status: LookupStatus };
    role: { is_role: boolean; role: string | null; status: LookupStatus };
    smtp: {
      ok: boolean;
      code: number;
      latency_ms: number;
      status: SmtpStatus;
      catch_all: Exclude<CatchAll, "put_off">;
      enhanced_code: string | null;
      fault: VerdictFault | null;
    };
    reputation: { score: number; risk: "low" | "medium" | "high"; signals: Signal[]; status: LookupStatus };
  };
  cached: boolean;
  cache_ttl_seconds: number;
  /** null when nothing was kept. */
  cache_expires_at: string | null;
  verified_at: string;
  /** When asking again makes sense, where the answer is that the server put us off; else null. */
  retry_at: string | null;
  livemode: boolean;
  /** Only with `several_addresses`: how many. */
  addresses?: number;
  /** Only on `evidence=true`. */
  evidence?: {
    stage: string;
    /** 0 when no reply came. */
    code: number;
    enhanced_code: string | null;
    reply: string;
    rule: string;
    mx_host: string;
  } | null;
}
