/** The answered rows of a job by provider, for its team to look at while it runs. */
export const jobProviders = `
create table job_providers (
  job_id text not null references jobs (id) on delete cascade,
  -- Operator of the mail exchangers; '': of no known one.
  provider text not null,
  -- Rows by verdict, as in jobs.
  valid integer not null,
  invalid integer not null,
  risky integer not null,
  unknown integer not null,
  primary key (job_id, provider)
);
`;
