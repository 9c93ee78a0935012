/** Rows of a job with nothing in the cell of the address, which were malformed ones before. */
export const emptyRows = `
alter table jobs add column empty integer not null default 0;
alter table jobs add constraint jobs_empty_check check (empty >= 0) not valid;
`;
