-- What a claim looks at: the next tenants from `:from` on, the next keys of each, and the first jobs of each key. It goes
-- from lane to lane by steps along the index, so that neither what waits in them nor who has nothing costs anything.
-- After the last tenant, and after the last key, comes the first one again. `:known` is null: what was claimed is gone at once.
WITH RECURSIVE
turns (n, first, tenant) AS (
  SELECT 1, t.tenant, t.tenant
  FROM (
    SELECT coalesce(
      (SELECT j.tenant FROM jobs j
       WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant >= :from ORDER BY j.tenant LIMIT 1),
      (SELECT j.tenant FROM jobs j WHERE j.claimable = 1 AND j.pool = :pool ORDER BY j.tenant LIMIT 1)) AS tenant
    LIMIT 1) t
  WHERE :known IS NULL
  UNION ALL
  -- Where it has come round, the first one stands there once more, and is left out below.
  SELECT t.n + 1, t.first, coalesce(
    (SELECT j.tenant FROM jobs j
     WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant > t.tenant ORDER BY j.tenant LIMIT 1),
    (SELECT j.tenant FROM jobs j WHERE j.claimable = 1 AND j.pool = :pool ORDER BY j.tenant LIMIT 1))
  FROM turns t
  WHERE t.n < :tenants AND (t.n = 1 OR t.tenant <> t.first)),
-- How many jobs each may take when all costs are alike: its share of the slots, one at least.
shares AS MATERIALIZED (
  SELECT t.n, t.tenant, coalesce(l.turn, 0) AS turn,
         (:slots * e.weight + sum(e.weight) OVER () - 1) / sum(e.weight) OVER () AS want
  FROM turns t
  CROSS JOIN tenants e ON e.id = t.tenant
  LEFT JOIN lanes l ON l.pool = :pool AND l.tenant = t.tenant
  WHERE t.n = 1 OR t.tenant <> t.first),
keys_in_turn (n, k, tenant, want, first, lane) AS (
  SELECT s.n, 1, s.tenant, s.want, s.lane, s.lane
  FROM (
    SELECT s.n, s.tenant, s.want, coalesce(
      (SELECT j.lane FROM jobs j
       WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = s.tenant AND j.lane > s.turn
       ORDER BY j.lane LIMIT 1),
      (SELECT j.lane FROM jobs j
       WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = s.tenant ORDER BY j.lane LIMIT 1)) AS lane
    FROM shares s LIMIT -1) s
  UNION ALL
  SELECT k.n, k.k + 1, k.tenant, k.want, k.first, coalesce(
    (SELECT j.lane FROM jobs j
     WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = k.tenant AND j.lane > k.lane ORDER BY j.lane LIMIT 1),
    (SELECT j.lane FROM jobs j
     WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = k.tenant ORDER BY j.lane LIMIT 1))
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
          WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = z.tenant AND j.lane = z.lane
          ORDER BY j.task LIMIT 1)
  FROM sizes z
  UNION ALL
  SELECT t.n, t.k, t.tenant, t.lane, t.more_keys, t.want,
         (SELECT j.task FROM jobs j
          WHERE j.claimable = 1 AND j.pool = :pool AND j.tenant = t.tenant AND j.lane = t.lane AND j.task > t.task
          ORDER BY j.task LIMIT 1)
  FROM tasks t
  WHERE t.task IS NOT NULL),
-- A task that takes no more calls, or that is not asked for, has no heads, so that what waits behind it costs nothing.
-- Its key has a row all the same.
heads AS MATERIALIZED (
  SELECT t.n, t.k, t.tenant, t.lane, t.more_keys, t.want, j.place, j.seq,
         row_number() OVER (PARTITION BY t.n, t.k ORDER BY j.seq IS NULL, j.place, j.seq) AS nth
  FROM tasks t
  LEFT JOIN jobs j ON j.seq IN (
    SELECT f.seq FROM jobs f
    WHERE f.claimable = 1 AND f.pool = :pool AND f.tenant = t.tenant AND f.lane = t.lane AND f.task = t.task
      AND f.task NOT IN (SELECT value FROM json_each(:closed))
      AND (:only IS NULL OR f.task IN (SELECT value FROM json_each(:only)))
    ORDER BY f.place, f.seq
    -- No column of a row may stand here.
    LIMIT (SELECT max(z.want) FROM sizes z))
  WHERE t.task IS NOT NULL)
-- In any order, which the first three columns say. What there is to say of a tenant stands in its first row alone, and
-- likewise of a key.
SELECT h.n, h.k, h.nth, h.tenant, h.lane, h.place, h.seq, h.want, h.more_keys,
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'pool' AND c.name = :pool),
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'tokens' AND c.name = :pool),
       y.max_in_flight, c.in_flight,
       e.weight, l.credit, l.turn, l.yielded_at, e.max_in_flight, o.in_flight, e.budget_micros,
       CASE e.budget_period WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END,
       b.reserved_micros, b.spent_micros, b.uncertain_micros,
       -- The columns of job_records, in its order. What waits has not failed, so that nothing replays it.
       j.id, j.seq, j.tenant, j.task, j.kind, j.revision,
       j.state, j.state_version, j.fence, j.generation, j.step, j.attempts, j.deferrals, j.step_since,
       j.available_at, j.lease_until, j.deadline, j.open_children, j.failure_class, j.failure_message,
       j.priority, j.pool, j.ordering_key, j.key_first, j.keeps_key,
       j.input_tokens, j.output_tokens, j.cost_micros, j.uncertain_micros,
       i.created_at, j.updated_at, j.finished_at,
       i.metadata, i.correlation_id, i.replay_of, i.request_digest, i.document, j.batch,
       NULL AS replayed_by,
       j.model, j.step_input, j.step_output
FROM heads h
LEFT JOIN tenants e ON e.id = CASE WHEN h.k = 1 AND h.nth = 1 THEN h.tenant END
LEFT JOIN tenant_load o ON o.tenant = e.id
LEFT JOIN budgets b ON b.tenant = e.id
  AND b.period_start = CASE e.budget_period WHEN 'day' THEN :day WHEN 'month' THEN :month ELSE 0 END
LEFT JOIN lanes l ON l.pool = :pool AND l.tenant = e.id
LEFT JOIN keys y ON y.lane = CASE WHEN h.nth = 1 THEN h.lane END
LEFT JOIN calls c ON c.kind = 'key' AND c.name = CAST(y.lane AS TEXT)
LEFT JOIN jobs j ON j.seq = h.seq
LEFT JOIN inputs i ON i.job = h.seq
WHERE h.nth <= h.want AND (h.seq IS NOT NULL OR h.nth = 1)
