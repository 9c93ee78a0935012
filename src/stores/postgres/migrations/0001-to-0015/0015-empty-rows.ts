/** Rows of a job with an empty address cell, which counted as malformed before. */
export const emptyRows = `
alter table jobs add column empty integer not null default 0;
alter table jobs add constraint jobs_empty_check check (empty >= 0) not valid;
`;
