-- part: waiting_columns
q.pool, q.priority, q.start_after, q.run_id, q.job_id, q.agent, q.concurrency_key, q.cause, q.may_overlap, q.is_held,
q.expires_at

-- name: enqueue
INSERT INTO queue (pool, priority, start_after, run_id, job_id, agent, concurrency_key, cause, may_overlap, is_held, expires_at)
SELECT pool, priority, start_after, run_id, job_id, agent, concurrency_key, cause, may_overlap, is_held, expires_at
FROM {rows new: pool text, priority bigint, start_after bigint, run_id text, job_id text, agent text, concurrency_key text, cause text, may_overlap bigint, is_held bigint, expires_at bigint}

-- name: waiting_runs
SELECT {use waiting_columns}
FROM queue q LEFT JOIN plans p ON p.job_id = q.job_id LEFT JOIN runs r ON r.id = p.live_run
LEFT JOIN slots a ON a.scope = 'agent' AND a.name = q.agent
LEFT JOIN slots k ON k.scope = 'key' AND k.name = q.concurrency_key
WHERE q.pool = :pool AND q.start_after <= :now AND q.is_held = 0
  AND (q.may_overlap = 1 OR r.state IS NULL OR r.state <> 'running')
  AND (q.cause = 'manual' OR p.paused_until IS NULL OR p.paused_until <= :now)
  AND (a.size IS NULL OR a.used < a.size) AND (k.used IS NULL OR k.used < 1)
ORDER BY q.priority, q.start_after, q.run_id LIMIT :most {lock q}

-- name: queued_pools
WITH RECURSIVE pools (pool) AS (
  SELECT min(pool) FROM queue
  UNION ALL
  SELECT (SELECT min(q.pool) FROM queue q WHERE q.pool > pools.pool) FROM pools WHERE pools.pool IS NOT NULL
)
SELECT pool FROM pools WHERE pool IS NOT NULL

-- name: next_start
SELECT min(start_after) FROM queue WHERE start_after > :now AND is_held = 0

-- name: leave_queue
DELETE FROM queue WHERE EXISTS (
  SELECT 1 FROM {rows gone: pool text, priority bigint, start_after bigint, run_id text}
  WHERE gone.pool = queue.pool AND gone.priority = queue.priority AND gone.start_after = queue.start_after
    AND gone.run_id = queue.run_id)

-- name: queue_of_jobs
SELECT {use waiting_columns} FROM queue q WHERE q.job_id {in ids} ORDER BY q.priority, q.start_after, q.run_id

-- name: queue_of_runs
SELECT {use waiting_columns} FROM queue q JOIN runs r ON r.job_id = q.job_id AND r.id = q.run_id WHERE r.id {in ids}

-- name: expired_in_queue
SELECT {use waiting_columns} FROM queue q WHERE q.expires_at <= :now ORDER BY q.expires_at LIMIT :most {lock q}

-- name: queue_depths
SELECT pool, priority, count(*) FROM queue GROUP BY pool, priority ORDER BY pool, priority

-- name: is_queue_empty
SELECT 1 FROM queue ORDER BY pool, priority, start_after, run_id LIMIT 1

-- name: lock_slots
SELECT scope, name, size, used FROM slots s ORDER BY scope, name {wait s}

-- name: pool_slots
SELECT scope, name, size, used FROM slots WHERE scope = 'pool' AND name = :name

-- name: slots
SELECT scope, name, size, used FROM slots ORDER BY scope, name

-- name: take_slots
INSERT INTO slots (scope, name, size, used) SELECT scope, name, size, count
FROM {rows taken: scope text, name text, size bigint, count bigint}
WHERE true ORDER BY scope, name ON CONFLICT (scope, name) DO UPDATE SET used = slots.used + excluded.used
WHERE slots.size IS NULL OR slots.used + excluded.used <= slots.size

-- name: free_slots
WITH held AS (
  SELECT s.scope, s.name, freed.count FROM {rows freed: scope text, name text, count bigint}
  JOIN slots s ON s.scope = freed.scope AND s.name = freed.name ORDER BY s.scope, s.name {wait s})
UPDATE slots AS s SET used = s.used - held.count FROM held WHERE s.scope = held.scope AND s.name = held.name

-- name: drop_unused_keys
DELETE FROM slots WHERE scope = 'key' AND used = 0

-- name: size_slot
INSERT INTO slots (scope, name, size, used) VALUES (:scope, :name, CAST(:size AS BIGINT), 0)
ON CONFLICT (scope, name) DO UPDATE SET size = excluded.size

-- name: ensure_slots
INSERT INTO slots (scope, name, size, used) SELECT scope, name, size, 0
FROM {rows wanted: scope text, name text, size bigint} WHERE true ON CONFLICT DO NOTHING
