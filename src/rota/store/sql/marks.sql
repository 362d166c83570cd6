-- part: mark_columns
r.id, r.job, r.job_id, r.state, r.cause, r.attempt, r.due_at, r.requested_at, r.started_at, r.ended_at, r.reason, r.folded

-- name: marks_by_id
SELECT {use mark_columns} FROM runs r WHERE r.id {in ids} ORDER BY r.id

-- name: latest_marks
SELECT {use mark_columns} FROM (
  SELECT p.job_id, (
    SELECT min(n.id) FROM (
      SELECT x.id FROM runs x WHERE x.job_id = p.job_id AND x.id >= :since AND x.id < :before ORDER BY x.id DESC LIMIT :most
    ) AS n) AS first_id
  FROM plans p WHERE p.job_id {in ids}) AS c
JOIN runs r ON r.job_id = c.job_id AND r.id >= c.first_id AND r.id < :before
ORDER BY r.job_id, r.id DESC

-- name: runs_by_day
SELECT span.day, r.state, CAST(sum(coalesce(r.folded, 1)) AS BIGINT),
  CAST(sum(coalesce(r.ended_at - r.started_at, 0)) AS BIGINT)
FROM {rows span: day text, first_id text, end_id text}
CROSS JOIN runs r
WHERE r.job_id = :job_id AND r.id >= span.first_id AND r.id < span.end_id AND r.ended_at IS NOT NULL
GROUP BY span.day, r.state

-- name: tallies_of
SELECT day, state, count, seconds FROM tallies WHERE job_id = :job_id AND day >= :since ORDER BY day, state

-- name: job_names
SELECT id, name FROM jobs WHERE name > :after ORDER BY name LIMIT :most

-- name: jobs_named
SELECT id, name FROM jobs WHERE name {in names} OR id {in names} ORDER BY name

-- part: is_wanted
(CAST(:agent AS TEXT) IS NULL OR j.agent = CAST(:agent AS TEXT))
  AND (CAST(:contains AS TEXT) IS NULL OR replace(lower(j.name), CAST(:contains AS TEXT), '') <> lower(j.name))

-- name: named_lanes
SELECT j.id FROM jobs j WHERE {use is_wanted} ORDER BY j.name LIMIT :most

-- name: lane_count
SELECT count(*) FROM jobs j WHERE {use is_wanted}

-- part: is_of_wanted
(CAST(:agent AS TEXT) IS NULL OR r.agent = CAST(:agent AS TEXT))
  AND (CAST(:contains AS TEXT) IS NULL OR replace(lower(r.job), CAST(:contains AS TEXT), '') <> lower(r.job))

-- name: running_lanes
SELECT r.job_id, max(r.id) FROM runs r WHERE r.id {in ids} AND r.state = 'running' AND {use is_of_wanted}
GROUP BY r.job_id ORDER BY max(r.id) DESC LIMIT :most

-- name: failing_lanes
SELECT p.job_id, p.failure_count FROM plans p JOIN jobs j ON j.id = p.job_id
WHERE (p.failure_count > 0 OR p.lost_count > 0) AND p.failure_count > 0 AND {use is_wanted}
ORDER BY p.failure_count DESC, j.name LIMIT :most

-- name: busy_lanes
SELECT r.job_id, max(r.id) FROM (
  SELECT id, job_id, job, agent FROM runs WHERE id >= :since AND id < :before ORDER BY id DESC LIMIT :looked_at) AS r
WHERE {use is_of_wanted} GROUP BY r.job_id ORDER BY max(r.id) DESC LIMIT :most

-- name: coming_lanes
SELECT p.job_id, p.next_run_at FROM plans p JOIN jobs j ON j.id = p.job_id
WHERE p.wake_at <= :before AND p.next_run_at IS NOT NULL AND {use is_wanted}
ORDER BY p.wake_at LIMIT :most
