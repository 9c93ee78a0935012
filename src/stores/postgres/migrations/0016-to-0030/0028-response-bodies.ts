/** What a receiver answered to the last attempt of a delivery, for its team to look at. */
export const responseBodies = `
-- The beginning, as text; null: no answer came, or a version before this step recorded it.
alter table webhook_deliveries add column response_body text;
`;
