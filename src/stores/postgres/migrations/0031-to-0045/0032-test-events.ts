/** Pages of the events of a team's test keys, without reading its live ones. Like migration 31. */
export const testEvents = `
create index events_test on events (team_id, id collate "C") where not livemode;
`;
