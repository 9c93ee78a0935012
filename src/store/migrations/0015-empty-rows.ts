/** Rows of a job with nothing in the cell of the address, which were malformed ones before. */
export const emptyRows = `
alter table jobs add column empty integer not null default 0 check (empty >= 0);
`;
