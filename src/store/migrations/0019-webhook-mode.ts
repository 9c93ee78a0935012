/** A webhook is told of live events or of those of test keys, never of both. Those that are there were meant for live ones. */
export const webhookMode = `
alter table webhooks add column livemode boolean not null default true;
`;
