-- What a claim looks at: the next tenants from `:from` on, the next keys of each, and the first jobs of each key. It goes
-- from lane to lane by steps along the index, so that neither what waits in them nor who has nothing costs anything.
-- After the last tenant, and after the last key, comes the first one again.
--
-- Nothing is locked but the pool, by whoever claims, before: only who holds that takes jobs out of its lanes, and what a
-- job was here is the guard of what is written then. `OFFSET 0` keeps the planner from asking twice, and from tables in
-- one piece.
WITH RECURSIVE
turns (n, first, tenant) AS (
  SELECT CAST(1 AS bigint), t.tenant, t.tenant
  FROM (
    SELECT coalesce(
      (SELECT j.tenant FROM jobs j
       WHERE j.claimable AND j.pool = :pool AND j.tenant >= :from ORDER BY j.tenant LIMIT 1),
      (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = :pool ORDER BY j.tenant LIMIT 1)) AS tenant
    OFFSET 0) t
  WHERE CAST(:known AS text) IS NULL
  UNION ALL
  -- Where it has come round, the first one stands there once more, and is left out below.
  SELECT t.n + 1, t.first, coalesce(
    (SELECT j.tenant FROM jobs j
     WHERE j.claimable AND j.pool = :pool AND j.tenant > t.tenant ORDER BY j.tenant LIMIT 1),
    (SELECT j.tenant FROM jobs j WHERE j.claimable AND j.pool = :pool ORDER BY j.tenant LIMIT 1))
  FROM turns t
  WHERE t.n < CAST(:tenants AS bigint) AND (t.n = 1 OR t.tenant <> t.first)),
-- How many jobs each may take when all costs are alike: its share of the slots, one at least.
shares AS MATERIALIZED (
  SELECT t.n, t.tenant, coalesce(l.turn, 0) AS turn,
         CAST(ceil(CAST(:slots AS bigint) * e.weight / sum(e.weight) OVER ()) AS bigint) AS want
  FROM turns t
  CROSS JOIN LATERAL (SELECT * FROM tenants e WHERE e.id = t.tenant OFFSET 0) e
  LEFT JOIN LATERAL (SELECT * FROM lanes l WHERE l.pool = :pool AND l.tenant = t.tenant OFFSET 0) l ON true
  WHERE t.n = 1 OR t.tenant <> t.first),
keys_in_turn (n, k, tenant, want, first, lane) AS (
  SELECT s.n, CAST(1 AS bigint), s.tenant, s.want, s.lane, s.lane
  FROM (
    SELECT s.n, s.tenant, s.want, coalesce(
      (SELECT j.lane FROM jobs j
       WHERE j.claimable AND j.pool = :pool AND j.tenant = s.tenant AND j.lane > s.turn
       ORDER BY j.lane LIMIT 1),
      (SELECT j.lane FROM jobs j
       WHERE j.claimable AND j.pool = :pool AND j.tenant = s.tenant ORDER BY j.lane LIMIT 1)) AS lane
    FROM shares s OFFSET 0) s
  UNION ALL
  SELECT k.n, k.k + 1, k.tenant, k.want, k.first, coalesce(
    (SELECT j.lane FROM jobs j
     WHERE j.claimable AND j.pool = :pool AND j.tenant = k.tenant AND j.lane > k.lane ORDER BY j.lane LIMIT 1),
    (SELECT j.lane FROM jobs j
     WHERE j.claimable AND j.pool = :pool AND j.tenant = k.tenant ORDER BY j.lane LIMIT 1))
  FROM keys_in_turn k
  WHERE k.k < k.want AND (k.k = 1 OR k.lane <> k.first)),
-- The tenant's share is divided between those of its keys that are looked at. Where they are as many, there may be more.
sizes AS MATERIALIZED (
  SELECT k.n, k.k, k.tenant, k.lane, k.want = count(*) OVER of_tenant AS more_keys,
         (k.want + count(*) OVER of_tenant - 1) / count(*) OVER of_tenant AS want
  FROM keys_in_turn k
  WHERE k.k = 1 OR k.lane <> k.first
  WINDOW of_tenant AS (PARTITION BY k.n)),
tasks (n, k, tenant, lane, more_keys, want, task) AS (
  SELECT z.n, z.k, z.tenant, z.lane, z.more_keys, z.want,
         (SELECT j.task FROM jobs j
          WHERE j.claimable AND j.pool = :pool AND j.tenant = z.tenant AND j.lane = z.lane
          ORDER BY j.task LIMIT 1)
  FROM sizes z
  UNION ALL
  SELECT t.n, t.k, t.tenant, t.lane, t.more_keys, t.want,
         (SELECT j.task FROM jobs j
          WHERE j.claimable AND j.pool = :pool AND j.tenant = t.tenant AND j.lane = t.lane AND j.task > t.task
          ORDER BY j.task LIMIT 1)
  FROM tasks t
  WHERE t.task IS NOT NULL),
-- Where it is known already what there is to look at, that alone, and from where on: what was claimed stays in the index as
-- long as somebody has an old snapshot, and to walk over it takes time.
sub_lanes (n, k, tenant, lane, more_keys, want, task, place, seq) AS (
  SELECT t.n, t.k, t.tenant, t.lane, t.more_keys, t.want, t.task, CAST('-9223372036854775808' AS bigint), CAST(0 AS bigint)
  FROM tasks t
  WHERE t.task IS NOT NULL
  UNION ALL
  SELECT r.n, r.k, r.tenant, r.lane, r.more_keys, r.want, r.task, r.place, r.seq
  FROM jsonb_to_recordset(CAST(CAST(:known AS text) AS jsonb)) AS r (
    n bigint, k bigint, tenant bigint, lane bigint, more_keys boolean, want bigint, task text COLLATE "C", place bigint,
    seq bigint)),
-- A task that takes no more calls, or that is not asked for, has no heads, so that what waits behind it costs nothing.
-- Its key has a row all the same.
heads AS MATERIALIZED (
  SELECT t.n, t.k, t.tenant, t.lane, t.more_keys, t.want, f.place, f.seq,
         row_number() OVER (PARTITION BY t.n, t.k ORDER BY f.place, f.seq) AS nth
  FROM sub_lanes t
  LEFT JOIN LATERAL (
    SELECT j.place, j.seq FROM jobs j
    WHERE j.claimable AND j.pool = :pool AND j.tenant = t.tenant AND j.lane = t.lane AND j.task = t.task
      AND (j.place, j.seq) >= (t.place, t.seq)
      AND NOT CAST(CAST(:closed AS text) AS jsonb) ? t.task AND (CAST(CAST(:only AS text) AS jsonb) IS NULL OR CAST(CAST(:only AS text) AS jsonb) ? t.task)
    ORDER BY j.place, j.seq LIMIT t.want) f ON true)
-- In any order, which the first three columns say. What there is to say of a tenant stands in its first row alone, and
-- likewise of a key.
SELECT h.n, h.k, h.nth, h.tenant, h.lane, h.place, h.seq, h.want, h.more_keys,
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'pool' AND c.name = :pool),
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'tokens' AND c.name = :pool),
       y.max_in_flight, c.in_flight,
       e.weight, l.credit, l.turn, l.yielded_at, e.max_in_flight, o.in_flight, e.budget_micros, e.period_start,
       b.reserved_micros, b.spent_micros, b.uncertain_micros,
       -- The columns of job_records, in its order. What waits has not failed, so that nothing replays it.
       j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first, j.keeps_key,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, j.batch,
       CAST(NULL AS uuid) AS replayed_by,
       j.model, j.step_input, j.step_output
FROM heads h
LEFT JOIN LATERAL (
  SELECT *, CASE budget_period WHEN 'day' THEN CAST(:day AS bigint) WHEN 'month' THEN CAST(:month AS bigint) ELSE 0 END
    AS period_start
  FROM tenants WHERE id = CASE WHEN h.k = 1 AND h.nth = 1 THEN h.tenant END OFFSET 0) e ON true
LEFT JOIN LATERAL (SELECT * FROM tenant_load WHERE tenant = e.id OFFSET 0) o ON true
LEFT JOIN LATERAL (SELECT * FROM budgets WHERE tenant = e.id AND period_start = e.period_start OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT * FROM lanes WHERE pool = :pool AND tenant = e.id OFFSET 0) l ON true
LEFT JOIN LATERAL (SELECT * FROM keys WHERE lane = CASE WHEN h.nth = 1 THEN h.lane END OFFSET 0) y ON true
LEFT JOIN LATERAL (SELECT * FROM calls WHERE kind = 'key' AND name = CAST(y.lane AS text) OFFSET 0) c ON true
LEFT JOIN LATERAL (SELECT * FROM jobs WHERE seq = h.seq OFFSET 0) j ON true
LEFT JOIN LATERAL (SELECT * FROM inputs WHERE job = h.seq AND tenant = h.tenant OFFSET 0) i ON true
WHERE h.nth <= h.want AND (h.seq IS NOT NULL OR h.nth = 1)
