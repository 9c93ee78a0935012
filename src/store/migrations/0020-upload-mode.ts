/** An upload by a test key is seen by test keys; those that are there may hold real lists. */
export const uploadMode = `
alter table uploads add column livemode boolean not null default true;
`;
