import type { Queryable } from "../../../stores/postgres/postgres.ts";
import type { JobCounts } from "./job-sql.ts";

/** Answered rows of one provider by verdict, repeats included. */
export type ProviderCounts = Omit<JobCounts, "charged"> & {
  /** Operator of the mail exchangers; "": of no known one. */
  provider: string;
};

/** The answered rows of a job by provider, as its team sees them. */
export interface JobProviders {
  /** Most rows first. */
  data: {
    /** null: the rows of no known provider. */
    provider: string | null;
    rows: number;
    verdicts: Omit<JobCounts, "charged">;
  }[];
}

/** @param limit providers at most; the lists know far fewer */
export async function findJobProviders(sql: Queryable, jobId: string, limit: number): Promise<JobProviders> {
  const found = await sql<(ProviderCounts & { rows: number })[]>`
    select provider, valid, invalid, risky, unknown, valid + invalid + risky + unknown as rows
    from job_providers where job_id = ${jobId} order by rows desc, provider limit ${limit}`;
  return {
    data: found.map(({ provider, rows, ...verdicts }) => ({
      provider: provider === "" ? null : provider,
      rows,
      verdicts: { ...verdicts },
    })),
  };
}
