import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import {
  ALIAS_KINDS,
  LOOKUP_STATUSES,
  MX_STATUSES,
  SIGNALS,
  SMTP_STATUSES,
} from "../../features/verify/answer/verification-result.ts";
import { reasonField, verdictField } from "./enums.ts";
import { booleanParameter, named } from "./fields.ts";

const described = (text: string) => v.description<string, string>(text);
const text = (description: string) => v.pipe(v.string(), described(description));
const flag = (description: string) => v.pipe(v.boolean(), v.description(description));
const whole = (description: string, min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max), v.description(description));
const part = <S extends v.GenericSchema>(description: string, schema: S) =>
  v.pipe(schema, v.description(description));
const instant = (description: string) => v.pipe(v.string(), v.isoTimestamp(), described(description));

const FAULTS = ["recipient", "their_server", "our_address", "our_network", "ours"] as const;
const oneOf = <const T extends readonly string[]>(names: T, description: string) =>
  v.pipe(v.picklist(names), v.description(description));
const lookedUp = oneOf(LOOKUP_STATUSES, "`skipped` when this check was not reached.");

const ChecksSchema = named(
  "Checks",
  v.object({
    format: part(
      "The form of the address.",
      v.object({ ok: flag("The address is well formed (RFC 5321, 5322, 6531).") }),
    ),
    mx: part(
      "Whether the domain takes mail, and where.",
      v.object({
        ok: flag("The domain takes mail."),
        hosts: v.pipe(v.array(v.string()), v.description("Mail exchangers, most preferred first.")),
        records: v.pipe(
          v.array(
            v.object({
              host: text("The mail exchanger."),
              preference: v.nullable(
                whole(
                  "Its preference: lower is tried first; 0 of an implicit one; null where an older entry of the cache does not have it.",
                  0,
                  65_535,
                ),
              ),
            }),
          ),
          v.description("The same hosts, each with its preference."),
        ),
        provider: v.nullable(text("The operator of the mail exchangers, where known, e.g. `google`.")),
        status: oneOf(MX_STATUSES, "What the DNS said; `implicit`: no MX record, but an address of its own."),
      }),
    ),
    disposable: part(
      "Whether the domain is for throwing away.",
      v.object({
        is_disposable: flag("The domain hands out throw-away addresses."),
        source: text(
          "The list that names the domain; `shared-mx` where all its mail exchangers are a throw-away service's, `override` where the team or the operator names it, `none` where nobody does.",
        ),
        status: lookedUp,
      }),
    ),
    alias: part(
      "Whether the address is one of several of a mailbox.",
      v.object({
        is_alias: flag("It has a tag, or an alias service hands it out."),
        kind: v.nullable(
          oneOf(
            ALIAS_KINDS,
            "`plus_tag` (`jane+news@`), `hyphen_tag` (Yahoo), `subdomain` (Fastmail), or `alias_service`.",
          ),
        ),
        service: v.nullable(text("The alias service, e.g. `simplelogin`; null where it is none.")),
        status: lookedUp,
      }),
    ),
    free_provider: part(
      "Whether anybody can open a mailbox there.",
      v.object({
        is_free_provider: flag("The domain is a mailbox provider's that is open to everybody."),
        status: lookedUp,
      }),
    ),
    role: part(
      "Whether a function or a person reads it.",
      v.object({
        is_role: flag("The local part names a function, not a person."),
        role: v.nullable(text("The function, e.g. `postmaster`.")),
        status: lookedUp,
      }),
    ),
    smtp: part(
      "What its mail server said; not asked below Pro+.",
      v.object({
        ok: flag("The mail server accepted the recipient."),
        code: whole("The SMTP reply code that decided; 0 when there was none.", 0, 999),
        latency_ms: whole("How long the dialogue took, in milliseconds.", 0, Number.MAX_SAFE_INTEGER),
        status: oneOf(SMTP_STATUSES, "What the dialogue came to; `skipped` when there was none."),
        catch_all: oneOf(
          ["accepted", "refused", "inconclusive", "not_probed"],
          "What the server said to an address that cannot exist.",
        ),
        enhanced_code: v.nullable(text("The enhanced status code (RFC 3463), e.g. `5.1.1`.")),
        fault: v.nullable(oneOf(FAULTS, "Who is at fault for a failure.")),
      }),
    ),
    reputation: part(
      "What is known of the domain and the local part.",
      v.object({
        score: whole("0 to 100; 100 is best.", 0, 100),
        risk: oneOf(["low", "medium", "high"], "The score, coarsely."),
        signals: v.pipe(v.array(v.picklist(SIGNALS)), v.description("What the score is made of.")),
        status: lookedUp,
      }),
    ),
  }),
);

const EvidenceSchema = named(
  "Evidence",
  v.object({
    stage: text("Where the SMTP dialogue ended."),
    code: whole("The SMTP reply code, 0 when no reply came.", 0, 599),
    enhanced_code: v.nullable(text("Enhanced status code (RFC 3463), e.g. `5.1.1`.")),
    reply: text("The deciding reply, with addresses redacted; `…` at its end where it was cut."),
    rule: text("Id of the classification rule that decided."),
    mx_host: text("The mail exchanger that was asked."),
  }),
);

/** The contract's verification result with the additive fields: the service's type, as the compiler sees in a test. */
export const VerificationResultSchema = named(
  "VerificationResult",
  v.object({
    email: text("The address as checked: domain in lower case, as A-labels."),
    input: v.exactOptional(
      text(
        "What was given, where more stood there than the address: a name, brackets, quotes, invisible characters.",
      ),
    ),
    normalized_email: v.nullable(
      text(
        "One text for the spellings of an address that lead to one mailbox: lower case, and what its provider ignores (tags, dots, " +
          "further domains) left out. For finding a person twice, not for sending to. Null where it is no address.",
      ),
    ),
    verdict: verdictField(
      "`valid` only from Pro+ upwards; `unknown` is a failure to find out, never a finding.",
    ),
    reason: reasonField("Why: stable names."),
    risk_score: whole("0 (safe) to 100.", 0, 100),
    did_you_mean: v.nullable(text("A likely correction of a misspelt domain.")),
    checks: part("What was found out; a check that was not reached says `skipped`.", ChecksSchema),
    cached: flag("Served from the cache."),
    cache_ttl_seconds: whole("The lifetime given when the result was stored.", 0, Number.MAX_SAFE_INTEGER),
    cache_expires_at: v.nullable(instant("When the stored result ends; null when nothing was kept.")),
    verified_at: instant("When the check was made (ISO 8601, UTC)."),
    retry_at: v.nullable(
      instant(
        "When asking again makes sense, where a server put us off (greylisting, a limit, a block that is waited out). We ask " +
          "again by ourselves where that may bring the answer, and the cache then has it. Null for all other answers.",
      ),
    ),
    livemode: flag("False for test keys, which check nothing."),
    addresses: v.exactOptional(
      whole("With `several_addresses`: how many there are.", 1, LIMITS.check.cellChars),
    ),
    evidence: v.exactOptional(
      part(
        "What the verdict rests on, when asked for; null where no server was asked.",
        v.nullable(EvidenceSchema),
      ),
    ),
  }),
);

export const VerifyQuerySchema = v.strictObject({
  email: v.pipe(
    v.string(),
    v.nonEmpty("must not be empty"),
    // The first is for readers of the description; the next line is the limit. v.maxBytes would encode the text to count
    // it.
    v.maxLength(LIMITS.http.emailBytes, `must be at most ${LIMITS.http.emailBytes} bytes`),
    v.check(
      (email) => Buffer.byteLength(email) <= LIMITS.http.emailBytes,
      `must be at most ${LIMITS.http.emailBytes} bytes`,
    ),
    v.description(
      "The address to verify, or a text with one address in it, such as `Jane <jane@example.com>`. A literal `+` is a plus. " +
        "A badly formed address is a 200 with `invalid`.",
    ),
  ),
  refresh: v.optional(
    booleanParameter("Check afresh instead of answering from the cache (Pro and above)."),
    "false",
  ),
  evidence: v.optional(booleanParameter("Add what the verdict rests on."), "false"),
  probe: v.optional(
    booleanParameter(
      "`false`: ask the DNS and the lists, and no mail server, in any tier. Costs 1 as any other; an address with nothing " +
        "against it is `unknown`, `smtp_not_requested`.",
    ),
    "true",
  ),
});
