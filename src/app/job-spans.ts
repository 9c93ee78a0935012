import type { JobRow } from "../features/bulk/jobs/job-sql.ts";
import type { Tracer } from "../platform/telemetry/tracing.ts";

/**
 * Records the span of an ended job. The spans of its tasks, made by any process, name it as their parent. Called once the
 * job's end is certain (`JobEndingsDeps.onEnded`).
 */
export function createJobSpanRecorder(tracer: Tracer | null): (job: JobRow) => void {
  return (job) => {
    const place = tracer?.jobTrace(job.id) ?? null;
    if (tracer === null || place === null) return;
    const { created_at: created, completed_at: completed, error_code: code } = job;
    tracer.job(place, created.getTime(), (completed ?? created).getTime(), {
      ...{ "rcpt.job": job.id, "rcpt.team.id": job.team_id, "rcpt.status": job.status },
      ...{ "rcpt.source": job.source.type, "rcpt.rows": job.rows_total, "rcpt.charged": job.charged },
      ...(code === null ? {} : { "error.type": code }),
    });
  };
}
