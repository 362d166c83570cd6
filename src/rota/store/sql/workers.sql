-- part: worker_columns
w.id, w.host, w.boot_id, w.pid, w.process_started_at, w.version, w.status, w.running, w.started_at, w.beat_at,
w.lease_until, w.ended_at

-- name: insert_worker
INSERT INTO workers (id, host, boot_id, pid, process_started_at, version, status, running, started_at, beat_at, lease_until)
VALUES (:id, :host, :boot_id, :pid, :process_started_at, :version, 'alive', 0, :now, :now, :lease_until)

-- name: beat
UPDATE workers SET beat_at = :now, lease_until = :lease_until, status = :status, running = :running
WHERE id = :id AND ended_at IS NULL

-- name: revive_worker
UPDATE workers SET beat_at = :now, lease_until = :lease_until, status = 'alive', running = 0, ended_at = NULL, is_lost = 0
WHERE id = :id

-- name: database_time
SELECT {microseconds}

-- name: end_worker
UPDATE workers SET status = 'dead', running = 0, ended_at = :now WHERE id = :id AND ended_at IS NULL

-- name: lose_worker
UPDATE workers SET status = 'dead', running = 0, ended_at = :now, is_lost = 1 WHERE id = :id AND ended_at IS NULL

-- name: lost_workers
SELECT {use worker_columns} FROM workers w WHERE w.is_lost = 1 AND w.ended_at > :since ORDER BY w.ended_at DESC LIMIT :most

-- name: workers
SELECT {use worker_columns} FROM workers w ORDER BY w.started_at DESC LIMIT :most

-- name: live_workers
SELECT {use worker_columns} FROM workers w WHERE w.ended_at IS NULL ORDER BY w.id

-- name: lock_worker
SELECT {use worker_columns} FROM workers w WHERE w.id = :id {lock w}

-- name: insert_lease
INSERT INTO leases (worker, taken_at, run_ids) VALUES (:worker, :now, :run_ids) RETURNING token

-- name: leases_of
SELECT token, worker, run_ids FROM leases WHERE worker = :worker ORDER BY token

-- name: leases
SELECT token, worker, run_ids FROM leases ORDER BY token

-- name: delete_leases
DELETE FROM leases WHERE token IN (SELECT token FROM {rows gone: token bigint})

-- name: beat_run
INSERT INTO heartbeats (worker, run_id, status, context, last_seen_at)
SELECT worker, run_id, status, context, last_seen_at
FROM {rows seen: worker text, run_id text, status text, context text, last_seen_at bigint} WHERE true
ON CONFLICT (worker, run_id) DO UPDATE SET status = excluded.status, context = excluded.context,
  last_seen_at = excluded.last_seen_at

-- name: insert_snapshot
INSERT INTO machine_snapshots (id, worker, taken_at, active_workers, active_agents, running, tmux_sessions, cpu_percent,
  memory_mb, load, context)
VALUES (:id, :worker, :now, :active_workers, :active_agents, :running, :tmux_sessions, :cpu_percent, :memory_mb, :load,
  :context)
