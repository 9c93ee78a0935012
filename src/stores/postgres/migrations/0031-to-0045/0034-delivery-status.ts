/**
 * Pages of a webhook's deliveries of one status, without reading the others. For the collation see migration 31. Writes of
 * deliveries wait while it is built: some seconds for each million of them.
 */
export const deliveryStatus = `
create index webhook_deliveries_status on webhook_deliveries (webhook_id, status, id collate "C");
`;
