/** Pages of the events of one type of a team's test keys, without reading the others. Like migration 31. */
export const testEventTypes = `
create index events_test_type on events (team_id, type, id collate "C") where not livemode;
`;
