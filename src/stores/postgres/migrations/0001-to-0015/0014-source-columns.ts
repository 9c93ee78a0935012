/**
 * Candidates of jobs that failed because several columns may hold the addresses. Findings of other jobs are part of
 * `source`.
 */
export const sourceColumns = `
alter table jobs add column error_candidates jsonb;
alter table jobs add constraint jobs_error_candidates_check
  check (jsonb_typeof(error_candidates) = 'array') not valid;
`;
