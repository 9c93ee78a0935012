/**
 * Pages of a team's events of one type, and of its test keys' events, without reading the others. The ids are in the
 * collation "C": no other index has them in that order, so the planner cannot take one and filter. Writes of events wait while
 * they are built: some seconds for each million of them.
 */
export const eventTypes = `
create index events_type on events (team_id, type, id collate "C");
create index events_test on events (team_id, id collate "C") where not livemode;
create index events_test_type on events (team_id, type, id collate "C") where not livemode;
`;
