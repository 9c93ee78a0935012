/**
 * Pages of a team's events of one type, without reading the others. The ids are in the collation "C": no other index has them in
 * that order, so the planner cannot take one and filter. Writes of events wait while it is built: some seconds for each million
 * of them. The next two indexes of events are steps of their own, so that writers have a turn in between.
 */
export const eventTypes = `
create index events_type on events (team_id, type, id collate "C");
`;
