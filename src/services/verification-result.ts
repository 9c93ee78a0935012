import type { CatchAll } from "../check/evidence.ts";
import type { Reason, Verdict, VerdictFault } from "../check/verdict/table.ts";

export interface VerificationResult {
  email: string;
  verdict: Verdict;
  reason: Reason;
  risk_score: number;
  did_you_mean: string | null;
  checks: {
    format: { ok: boolean };
    mx: { ok: boolean; hosts: string[]; provider: string | null; status: string };
    disposable: { is_disposable: boolean; source: string; status: string };
    role: { is_role: boolean; role: string | null; status: string };
    smtp: {
      ok: boolean;
      code: number;
      latency_ms: number;
      status: string;
      catch_all: CatchAll;
      enhanced_code: string | null;
      fault: VerdictFault | null;
    };
    reputation: { score: number; risk: "low" | "medium" | "high"; signals: string[]; status: string };
  };
  cached: boolean;
  cache_ttl_seconds: number;
  /** null when nothing was kept. */
  cache_expires_at: string | null;
  verified_at: string;
  livemode: boolean;
  /** Only on `evidence=true`. */
  evidence?: { stage: string; reply: string; rule: string; mx_host: string } | null;
}
