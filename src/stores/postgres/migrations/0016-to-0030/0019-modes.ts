/** A webhook gets live events or those of test keys, never both. Existing ones were meant for live events. */
export const webhookMode = `
alter table webhooks add column livemode boolean not null default true;
`;

/** Test keys see uploads of test keys only; existing uploads may hold real lists. */
export const uploadMode = `
alter table uploads add column livemode boolean not null default true;
`;
