-- name: old_runs
SELECT r.id FROM runs r
WHERE r.id < :before AND r.ended_at IS NOT NULL AND r.state {in states}
  AND (SELECT count(*) FROM (SELECT 1 FROM runs n WHERE n.job_id = r.job_id AND n.id > r.id LIMIT :kept) AS newer) >= :kept
ORDER BY r.id LIMIT :most

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

-- name: snapshots
SELECT worker, taken_at, active_workers, active_agents, running, tmux_sessions, cpu_percent, memory_mb, load, context
FROM machine_snapshots ORDER BY taken_at DESC LIMIT :most
