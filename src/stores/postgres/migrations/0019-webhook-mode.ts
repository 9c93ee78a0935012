/** A webhook gets live events or those of test keys, never both. Existing ones were meant for live events. */
export const webhookMode = `
alter table webhooks add column livemode boolean not null default true;
`;
