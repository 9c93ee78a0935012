import { localUrl } from "../../config/local-url.ts";
import { type DoctorFinding, type DoctorGroup, fail, ok, skipped, warn } from "./finding.ts";
import { askHealth, type HealthAnswer, type HealthLook, type HttpFacts } from "./http-facts.ts";
import { concerns } from "./roles.ts";

const CHECK = "/healthz";
const HEALTHY = /^\{"status":"ok"\}\s*$/;
/** Part of uWebSockets.js's answer to a request in HTTP/1.0, which never reaches the service. */
const REFUSED_VERSION = /does not support HTTP\/1\.0/i;
const PAGE = "docs/proxies.md";
const FROM_OUTSIDE =
  "Run this group from where users are, with PUBLIC_URL set and nothing else: npm run doctor -- --only http.";
const SERVER_CHARS = 40;

const isHealthy = (look: HealthLook) =>
  !("failure" in look) && look.status === 200 && HEALTHY.test(look.body);

/** `nginx/1.22.1`, as the answer names itself; in quotes, since the text is untrusted. */
const namedBy = ({ server }: HealthAnswer) =>
  server === "" ? "" : ` (${JSON.stringify(server.slice(0, SERVER_CHARS))})`;

/**
 * Judges whether the proxies before us speak HTTP/1.1 to us. A proxy that speaks HTTP/1.0 passes on our refusal (505), or
 * makes a 502 of it, or is itself refused by an Envoy before us (426). Pure.
 */
export function judgeHttp(publicUrl: string, { byPublicUrl: seen, directly }: HttpFacts): DoctorFinding {
  const { origin } = new URL(publicUrl);
  if ("failure" in seen)
    return warn(CHECK, `${origin} cannot be asked from here (${seen.failure}).`, FROM_OUTSIDE);
  if (isHealthy(seen)) return judgeHealthy(origin, seen);
  if (seen.status === 505 || REFUSED_VERSION.test(seen.body)) return speaksOldHttp(origin, seen);
  if (seen.status === 426)
    return fail(
      CHECK,
      `${origin} answers 426${namedBy(seen)}: a proxy speaks HTTP/1.0 to an Envoy (Istio's sidecar) before us, which refuses that.`,
      `nginx: proxy_http_version 1.1; proxy_set_header Connection ""; (${PAGE}).`,
    );
  return judgeOther(origin, seen, directly);
}

function judgeHealthy(origin: string, seen: HealthAnswer): DoctorFinding {
  if (seen.httpVersion === "1.0")
    return warn(
      CHECK,
      `${origin} answers in HTTP/1.0${namedBy(seen)}: each request of a user costs a connection.`,
      `Let the proxy speak HTTP/1.1 to its clients and to us (${PAGE}).`,
    );
  return ok(CHECK, `${origin} leads to us, and what is in between speaks HTTP/1.1 to us.`);
}

function speaksOldHttp(origin: string, seen: HealthAnswer): DoctorFinding {
  return fail(
    CHECK,
    `${origin} answers ${seen.status}${namedBy(seen)}: a proxy speaks HTTP/1.0 to us, which is not served. Every request fails.`,
    `nginx: proxy_http_version 1.1; proxy_set_header Connection ""; beside its proxy_pass. Others: ${PAGE}.`,
  );
}

function judgeOther(origin: string, seen: HealthAnswer, directly: HealthLook): DoctorFinding {
  const { status } = seen;
  if (status >= 300 && status < 400)
    return warn(
      CHECK,
      `${origin} redirects (${status}) to ${JSON.stringify(seen.location.slice(0, 200))}.`,
      "Set PUBLIC_URL to where it leads: clients need not follow a redirect, and mostly do not with POST.",
    );
  if (status < 500)
    return fail(
      CHECK,
      `${origin} answers ${status}${namedBy(seen)}, and not as we do.`,
      "Set PUBLIC_URL to where users reach the API, and have the proxy pass on every path as it is.",
    );
  if (isHealthy(directly))
    return fail(
      CHECK,
      `${origin} answers ${status}${namedBy(seen)}, and the process beside the doctor is well: the proxy does not reach us, or does not understand our answer.`,
      `See the proxy's log. It must speak HTTP/1.1 to us (nginx: proxy_http_version 1.1;), without TLS, at HOST:PORT (${PAGE}).`,
    );
  return fail(
    CHECK,
    `${origin} answers ${status}${namedBy(seen)}.`,
    `See whether an api process runs, then the proxy's log (${PAGE}).`,
  );
}

export const HTTP_GROUP: DoctorGroup = {
  name: "http",
  title: "HTTP by way of PUBLIC_URL",
  async examine({ config, diagnosis }, { note }) {
    const { publicUrl, host, port } = config.http;
    if (!concerns(config.role, "requests"))
      return note(skipped(CHECK, "Only the api is asked by users: run the doctor there too."));
    if (publicUrl === null)
      return note(skipped(CHECK, "PUBLIC_URL is not set: by which way users come is not known."));
    const [byPublicUrl, directly] = await Promise.all([
      askHealth(publicUrl),
      askHealth(localUrl(host, port)),
    ]);
    // A network policy that lets no pod go round by the balancer is in order.
    if ("failure" in byPublicUrl && diagnosis.variables.includes("KUBERNETES_SERVICE_HOST"))
      return note(skipped(CHECK, `A pod may not reach PUBLIC_URL (${byPublicUrl.failure}). ${FROM_OUTSIDE}`));
    note(judgeHttp(publicUrl, { byPublicUrl, directly }));
  },
};
