import { ERRORS, type ErrorCode } from "../../platform/errors.ts";
import { type Problem, problemType } from "../reply/problem.ts";
import type { Route } from "../routing/route.ts";

const INPUT_ERRORS = ["bad_request", "validation_failed", "uri_too_long"] as const;
const BODY_ERRORS = [
  "bad_request",
  "validation_failed",
  "malformed_json",
  "body_too_large",
  "unsupported_media_type",
  "request_timeout",
  "rate_limited",
] as const;
const SIGNED_BODY_ERRORS = [
  "invalid_signature",
  "validation_failed",
  "malformed_json",
  "body_too_large",
  "request_timeout",
  "rate_limited",
] as const;
const IDEMPOTENCY_ERRORS = ["bad_request", "idempotency_in_flight", "idempotency_mismatch"] as const;
const LOAD_ERRORS = ["overloaded", "unavailable"] as const;

/** Every error that a route may answer: its own, and those that follow from its input. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  const add = (more: readonly ErrorCode[]) => {
    for (const code of more) codes.add(code);
  };
  // Too many unknown credentials of one address are refused with 429, whatever the route.
  if (route.access !== "public" || route.mayAuthenticate === true) add(["unauthorized", "rate_limited"]);
  if (route.access !== "public") {
    if (route.needsUser === true) codes.add("key_without_user");
    if (route.liveOnly === true) codes.add("live_credential_needed");
    if (route.access.role !== "member") codes.add("insufficient_role");
    if (route.feature !== undefined) codes.add("unavailable_in_tier");
  }
  if (route.idempotent === true) add(IDEMPOTENCY_ERRORS);
  if (route.rate !== "none") codes.add("rate_limited");
  if (route.query !== "ignored" || route.params !== undefined) add(INPUT_ERRORS);
  if (route.body !== undefined) add(BODY_ERRORS);
  if (route.signedBody !== undefined) add(SIGNED_BODY_ERRORS);
  if (route.incoming !== undefined) add(["bad_request", "unsupported_media_type", "request_timeout"]);
  codes.add("internal_error");
  if (route.isEssential !== true) add(LOAD_ERRORS);
  return [...codes];
}

/** A problem of the code, as a client gets it. */
export function problemExample(code: ErrorCode): Problem {
  const { status, title } = ERRORS[code];
  const problem = {
    type: problemType(code),
    title,
    status,
    detail: `${title}.`,
    code,
    request_id: "req_01h455vb4pex5vsknk084sn02q",
  };
  if (code !== "validation_failed") return problem;
  const errors = [{ path: "email", message: "must not be empty" }];
  return { ...problem, detail: "email (query) must not be empty.", errors };
}
