-- name: job_counts
SELECT (SELECT count(*) FROM jobs),
  (SELECT count(*) FROM plans p WHERE p.source = 'paused' AND (p.next_run_at IS NULL OR p.next_run_at > :now)),
  (SELECT count(*) FROM plans p JOIN jobs j ON j.id = p.job_id
   WHERE (p.failure_count > 0 OR p.lost_count > 0) AND p.failure_count > 0 AND j.is_enabled = 1)

-- name: failing_jobs
SELECT j.name, j.definition, p.failure_count, p.lost_count, substr(p.last_error, 1, 500), p.paused_until, p.pause_note,
  p.live_run, r.ended_at
FROM plans p JOIN jobs j ON j.id = p.job_id LEFT JOIN runs r ON r.id = p.live_run
WHERE (p.failure_count > 0 OR p.lost_count > 0) AND j.is_enabled = 1
ORDER BY p.failure_count DESC, p.lost_count DESC, j.name LIMIT :most

-- name: missed_jobs
SELECT j.name, p.last_fold FROM plans p JOIN jobs j ON j.id = p.job_id
WHERE p.last_fold LIKE '%|missed|%' AND j.is_enabled = 1 AND NOT EXISTS (
  SELECT 1 FROM runs n WHERE n.job_id = p.job_id AND n.id > p.last_fold
    AND n.state NOT IN ('missed', 'skipped', 'cancelled'))
ORDER BY j.name LIMIT :most

-- name: late_jobs
SELECT j.name, p.next_run_at FROM plans p JOIN jobs j ON j.id = p.job_id
WHERE p.wake_at <= :before AND p.next_run_at <= :before ORDER BY p.wake_at LIMIT :most

-- name: silent_runs
SELECT r.id, r.job, h.worker, r.started_at,
  (SELECT o.written_at FROM output o WHERE o.run_id = r.id ORDER BY o.sequence DESC LIMIT 1)
FROM heartbeats h CROSS JOIN runs r
WHERE h.status = 'silent' AND r.id = h.run_id AND r.state = 'running' AND r.worker = h.worker ORDER BY h.run_id LIMIT :most

-- name: held_runs
SELECT r.id, r.job, coalesce(r.queued_at, r.requested_at) FROM queue q JOIN runs r ON r.id = q.run_id
WHERE q.is_held = 1 ORDER BY q.start_after LIMIT :most

-- name: long_waiting
SELECT r.id, CASE WHEN coalesce(r.queued_at, r.requested_at) > early.start_after THEN coalesce(r.queued_at, r.requested_at)
  ELSE early.start_after END
FROM (SELECT run_id, start_after FROM queue WHERE start_after <= :before AND is_held = 0 ORDER BY start_after LIMIT :most) AS early
JOIN runs r ON r.id = early.run_id
WHERE coalesce(r.queued_at, r.requested_at) <= :before ORDER BY early.start_after, r.id
