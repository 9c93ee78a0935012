/** Of jobs that failed since several columns may be the one of the addresses. What was read of others is part of `source`. */
export const sourceColumns = `
alter table jobs add column error_candidates jsonb;
alter table jobs add constraint jobs_error_candidates_check
  check (jsonb_typeof(error_candidates) = 'array') not valid;
`;
