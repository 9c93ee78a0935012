import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError, type ErrorIssue } from "../../platform/errors.ts";

const PATH_CHARS = 200;
const MESSAGE_CHARS = 300;

function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}…`;
}

/** Describes an issue for the caller. The library's own wording quotes values, which may be long or secret. */
function describe(issue: v.BaseIssue<unknown>): string {
  if (issue.type === "strict_object") {
    if (issue.expected === "never") return "is not a known field";
    return issue.received === "undefined" ? "is required" : "must be an object";
  }
  if (issue.kind === "schema" && issue.message.startsWith("Invalid "))
    return `must be ${issue.expected ?? "of another type"}`;
  return issue.message;
}

function toErrors(issues: readonly v.BaseIssue<unknown>[]): ErrorIssue[] {
  return issues.slice(0, LIMITS.http.validationIssues).map((issue) => ({
    path: cut(v.getDotPath(issue) ?? "", PATH_CHARS),
    message: cut(describe(issue), MESSAGE_CHARS),
  }));
}

/**
 * Checks input against a schema.
 * @throws AppError `validation_failed` with one entry in `errors` per field, at most `LIMITS.http.validationIssues`
 */
export function validate<T>(
  schema: v.GenericSchema<unknown, T>,
  input: unknown,
  where: "query" | "path" | "body",
): T {
  // An array passes for an object whose every field is optional.
  if (Array.isArray(input) && schema.type.endsWith("object"))
    throw new AppError("validation_failed", `The ${where} must be an object.`, {
      errors: [{ path: "", message: "must be an object" }],
    });
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  const errors = toErrors(result.issues);
  const first = errors[0];
  const subject = first === undefined || first.path === "" ? `The ${where}` : `${first.path} (${where})`;
  throw new AppError("validation_failed", `${subject} ${first?.message ?? "is not valid"}.`, { errors });
}
