/**
 * Pages of a team's events, newest first, without sorting all of them. Writes of events wait while it is built: less than a
 * second for each million of them.
 */
export const eventOrder = `
create index events_team_id on events (team_id, id);
`;
