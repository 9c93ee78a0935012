/**
 * Reads a team's use of a day and its leases in one statement. With the lease and `quota_told` in two, a report stored
 * between them was in the second alone, and `remaining` was too high for a moment.
 */
export const quotaUsage = `
-- used: units settled or reported, without held: those that jobs hold. leases: what was reported of each, [{id, spent}].
-- Volatile, so that called beside another function in one statement it sees what that one waited for.
create function quota_usage(p_team text, p_day date, out used bigint, out held bigint, out leases jsonb)
language sql volatile as $$
  select
    coalesce((select d.used from quota_days d where d.team_id = p_team and d.day = p_day), 0) + leased.spent,
    (select coalesce(sum(h.units), 0) from quota_holds h where h.team_id = p_team and h.day = p_day)::bigint,
    leased.reports
  from (
    select coalesce(sum(l.spent), 0)::bigint as spent,
      coalesce(jsonb_agg(jsonb_build_object('id', l.id, 'spent', l.spent)), '[]') as reports
    from quota_leases l where l.team_id = p_team and l.day = p_day
  ) leased;
$$;
`;
