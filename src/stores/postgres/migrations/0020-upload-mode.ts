/** Test keys see uploads of test keys only; existing uploads may hold real lists. */
export const uploadMode = `
alter table uploads add column livemode boolean not null default true;
`;
