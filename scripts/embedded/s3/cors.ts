import type { IncomingMessage, ServerResponse } from "node:http";
import { S3Error } from "./error.ts";

/** Requests that pages of other origins may make, with any header. */
export interface CorsRule {
  /** `*`: all. */
  origins: readonly string[];
  methods: readonly string[];
}

/** The origin as an answer names it; null: the rule does not allow it. */
function allowedOrigin({ origins, methods }: CorsRule, origin: string, method: string): string | null {
  if (!methods.includes(method)) return null;
  if (origins.includes("*")) return "*";
  return origins.includes(origin) ? origin : null;
}

/** Adds the headers to an answer, also to an error, that allow a page to read it. */
export function allowOrigin(req: IncomingMessage, res: ServerResponse, rule: CorsRule | undefined): void {
  const { origin } = req.headers;
  const method = req.method === "OPTIONS" ? req.headers["access-control-request-method"] : req.method;
  if (rule === undefined || origin === undefined || method === undefined) return;
  const allowed = allowedOrigin(rule, origin, method);
  if (allowed === null) return;
  res.setHeader("access-control-allow-origin", allowed);
  res.setHeader("access-control-allow-methods", rule.methods.join(", "));
  res.setHeader("vary", "Origin, Access-Control-Request-Headers, Access-Control-Request-Method");
}

/** Answers a preflight, to which `allowOrigin` was applied. @throws S3Error 403 when the rule does not allow the request */
export function answerPreflight(req: IncomingMessage, res: ServerResponse): void {
  if (!res.hasHeader("access-control-allow-origin"))
    throw new S3Error(403, "AccessForbidden", "CORSResponse: This CORS request is not allowed.");
  const headers = req.headers["access-control-request-headers"];
  res
    .writeHead(200, {
      ...(headers === undefined ? {} : { "access-control-allow-headers": headers }),
      "access-control-max-age": "3000",
      "content-length": 0,
    })
    .end();
}
