import { type DoctorFinding, type DoctorGroup, errorLine, ok, skipped, warn } from "./finding.ts";

const WITHIN_MS = 5_000;
/** A request without spans, which every collector accepts. */
const NO_SPANS = '{"resourceSpans":[]}';

/** A failure only loses traces. Pure. */
export function judgeCollector(host: string, status: number): DoctorFinding {
  const check = "traces";
  if (status < 300) return ok(check, `${host} takes traces.`);
  const advice =
    status === 401 || status === 403
      ? "Check OTEL_EXPORTER_OTLP_HEADERS."
      : "Let OTEL_EXPORTER_OTLP_ENDPOINT be the base address of a collector that speaks OTLP over HTTP (mostly port 4318).";
  return warn(check, `${host} answers ${status} to traces.`, advice);
}

export const COLLECTORS_GROUP: DoctorGroup = {
  name: "collectors",
  title: "collectors",
  async examine({ config }, { note }) {
    const { tracing } = config;
    if (tracing === null) return note(skipped("traces", "OTEL_EXPORTER_OTLP_ENDPOINT is not set."));
    const { host } = new URL(tracing.endpoint);
    try {
      const answer = await fetch(`${tracing.endpoint.replace(/\/$/, "")}/v1/traces`, {
        method: "POST",
        headers: { ...Object.fromEntries(tracing.headers), "Content-Type": "application/json" },
        body: NO_SPANS,
        redirect: "error",
        signal: AbortSignal.timeout(WITHIN_MS),
      });
      await answer.body?.cancel();
      note(judgeCollector(host, answer.status));
    } catch (error) {
      note(
        warn(
          "traces",
          `${host} cannot be reached (${errorLine(error)}): traces are lost, and nothing else.`,
          "Check OTEL_EXPORTER_OTLP_ENDPOINT, and that the collector runs.",
        ),
      );
    }
  },
};
