-- name: old_runs
SELECT r.id, r.job_id, r.state, coalesce(r.folded, 1), coalesce(r.ended_at - r.started_at, 0) FROM runs r
WHERE r.id < :before AND r.ended_at IS NOT NULL AND r.state {in states}
  AND (SELECT count(*) FROM (SELECT 1 FROM runs n WHERE n.job_id = r.job_id AND n.id > r.id LIMIT :kept) AS newer) >= :kept
ORDER BY r.id LIMIT :most

-- name: definitions
SELECT id, definition FROM jobs WHERE id {in ids}

-- name: add_to_tallies
INSERT INTO tallies (job_id, day, state, count, seconds) SELECT job_id, day, state, count, seconds
FROM {rows gone: job_id text, day text, state text, count bigint, seconds float8} WHERE true
ON CONFLICT (job_id, day, state) DO UPDATE SET count = tallies.count + excluded.count,
  seconds = tallies.seconds + excluded.seconds

-- name: delete_old_tallies
DELETE FROM tallies WHERE day < :before

-- name: delete_output
DELETE FROM output WHERE run_id {in ids}

-- name: delete_heartbeats
DELETE FROM heartbeats WHERE run_id {in ids}

-- name: delete_runs
DELETE FROM runs WHERE id {in ids}

-- name: delete_old_keys
DELETE FROM idempotency_keys WHERE made_at < :before

-- name: delete_old_snapshots
DELETE FROM machine_snapshots WHERE taken_at < :before

-- name: delete_old_events
DELETE FROM events WHERE id < :before

-- name: delete_old_workers
DELETE FROM workers WHERE ended_at < :before

-- name: heartbeats
SELECT worker, run_id, status, context, last_seen_at FROM heartbeats ORDER BY run_id

-- name: held_heartbeats
SELECT h.worker, h.run_id, r.job, r.agent, h.status, h.context, h.last_seen_at, r.started_at
FROM {rows held: worker text, run_id text}
JOIN heartbeats h ON h.worker = held.worker AND h.run_id = held.run_id
JOIN runs r ON r.id = held.run_id AND r.worker = held.worker
WHERE r.state = 'running' ORDER BY r.id LIMIT :most

-- part: snapshot_columns
worker, taken_at, active_workers, active_agents, running, tmux_sessions, cpu_percent, memory_mb, load, context

-- name: snapshots
SELECT {use snapshot_columns} FROM machine_snapshots WHERE taken_at >= :since ORDER BY taken_at DESC, id DESC LIMIT :most

-- name: snapshots_of_worker
SELECT {use snapshot_columns} FROM machine_snapshots WHERE worker = :worker AND taken_at >= :since
ORDER BY taken_at DESC, id DESC LIMIT :most
