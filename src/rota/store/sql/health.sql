-- name: misplaced_runs
SELECT q.run_id, coalesce(r.state, 'missing') FROM queue q LEFT JOIN runs r ON r.id = q.run_id
WHERE r.state IS NULL OR r.state NOT IN ('queued', 'held') ORDER BY q.run_id LIMIT 100

-- name: forgotten_runs
SELECT r.id FROM runs r WHERE r.state IN ('queued', 'held')
  AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.job_id = r.job_id AND q.run_id = r.id) ORDER BY r.id LIMIT 100

-- name: unheld_runs
SELECT r.id FROM runs r WHERE r.state = 'running'
  AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.token = r.token) ORDER BY r.id LIMIT 100

-- name: miscounted_slots
SELECT s.scope, s.name, s.used, (
    SELECT count(*) FROM runs r WHERE r.state = 'running' AND (
      (s.scope = 'pool' AND r.pool = s.name) OR (s.scope = 'agent' AND r.agent = s.name)
      OR (s.scope = 'key' AND r.concurrency_key = s.name) OR s.scope = 'all')
  ) AS running
FROM slots s WHERE s.used <> (
    SELECT count(*) FROM runs r WHERE r.state = 'running' AND (
      (s.scope = 'pool' AND r.pool = s.name) OR (s.scope = 'agent' AND r.agent = s.name)
      OR (s.scope = 'key' AND r.concurrency_key = s.name) OR s.scope = 'all')
  ) ORDER BY s.scope, s.name
