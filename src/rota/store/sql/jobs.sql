-- part: job_columns
j.id, j.name, j.agent, j.definition, j.version, j.is_enabled, j.is_proposed, j.created_at, j.scheduled_at,
p.next_run_at, p.source, p.trail, p.redecide_at, p.match_at, p.fired_until, p.is_running, p.last_completed_at, p.failure_count,
p.lost_count, p.started_count, p.paused_until, p.pause_note, p.last_error, p.hints, p.last_fold,
p.live_run, r.state, r.origin, r.started_at, r.ended_at, j.fleet, j.origin

-- part: job_tables
plans p JOIN jobs j ON j.id = p.job_id LEFT JOIN runs r ON r.id = p.live_run

-- name: find_job
SELECT {use job_columns} FROM {use job_tables} WHERE j.name = :name OR j.id = :name
-- A name that is another job's id must not stand for that job.
ORDER BY CASE WHEN j.id = :name THEN 0 ELSE 1 END LIMIT 1

-- name: jobs_by_prefix
SELECT {use job_columns} FROM {use job_tables}
WHERE substr(j.name, 1, length(:prefix)) = :prefix OR substr(j.id, 1, length(:prefix)) = :prefix
ORDER BY j.name LIMIT :most

-- name: jobs
SELECT {use job_columns} FROM {use job_tables} WHERE j.name > :after ORDER BY j.name LIMIT :most

-- name: jobs_by_name
SELECT {use job_columns} FROM {use job_tables} WHERE j.name {in names}

-- name: jobs_of_fleet
SELECT {use job_columns} FROM {use job_tables} WHERE j.fleet = :fleet ORDER BY j.name

-- name: jobs_of_agent
SELECT {use job_columns} FROM {use job_tables} WHERE j.agent = :agent ORDER BY j.name

-- name: coming_jobs
SELECT {use job_columns} FROM {use job_tables} WHERE p.wake_at IS NOT NULL ORDER BY p.wake_at LIMIT :most

-- name: set_hints
UPDATE plans SET hints = :hints WHERE job_id = :job_id

-- name: jobs_by_id
SELECT {use job_columns} FROM {use job_tables} WHERE j.id {in ids}

-- name: hold_plans
SELECT job_id FROM plans WHERE job_id {in ids} ORDER BY job_id {wait plans}

-- name: hold_free_plans
SELECT job_id FROM plans WHERE job_id {in ids} ORDER BY job_id {lock plans}

-- name: hold_due_plans
SELECT job_id FROM plans WHERE wake_at <= :now ORDER BY wake_at LIMIT :most {lock plans}

-- name: next_wake
SELECT min(wake_at) FROM plans WHERE wake_at IS NOT NULL

-- name: children_of
SELECT c.parent, {use job_columns}
FROM chains c JOIN plans p ON p.job_id = c.job_id JOIN jobs j ON j.id = p.job_id LEFT JOIN runs r ON r.id = p.live_run
WHERE c.parent {in names} ORDER BY j.name

-- name: chain_parents
SELECT j.name, c.parent FROM chains c JOIN jobs j ON j.id = c.job_id

-- name: insert_job
INSERT INTO jobs (id, name, agent, definition, version, is_enabled, is_proposed, created_at, scheduled_at, changed_at,
  fleet, origin)
SELECT id, name, agent, definition, 1, is_enabled, is_proposed, created_at, created_at, created_at, fleet, origin
FROM {rows new: id text, name text, agent text, definition text, is_enabled bigint, is_proposed bigint, created_at bigint, fleet text, origin text}
WHERE true ON CONFLICT DO NOTHING

-- name: insert_plan
INSERT INTO plans (job_id, wake_at, next_run_at, source, trail, redecide_at, match_at, fired_until)
SELECT job_id, wake_at, next_run_at, source, trail, redecide_at, match_at, fired_until
FROM {rows new: job_id text, wake_at bigint, next_run_at bigint, source text, trail text, redecide_at bigint, match_at bigint, fired_until bigint}

-- name: insert_chains
INSERT INTO chains (parent, job_id) SELECT parent, job_id FROM {rows new: parent text, job_id text}

-- name: delete_chains
DELETE FROM chains WHERE job_id {in ids}

-- name: delete_plans
DELETE FROM plans WHERE job_id {in ids}

-- name: delete_jobs
DELETE FROM jobs WHERE id {in ids}

-- name: edit_jobs
UPDATE jobs AS j SET name = edited.name, definition = edited.definition, agent = edited.agent, version = j.version + 1,
  scheduled_at = edited.scheduled_at, changed_at = :now, fleet = edited.fleet, origin = edited.origin
FROM {rows edited: job_id text, name text, definition text, agent text, scheduled_at bigint, fleet text, origin text}
WHERE j.id = edited.job_id

-- name: place_jobs
UPDATE jobs AS j SET fleet = placed.fleet, origin = placed.origin
FROM {rows placed: job_id text, fleet text, origin text} WHERE j.id = placed.job_id

-- name: enable_jobs
UPDATE jobs SET is_enabled = :is_enabled, is_proposed = 0, version = version + 1, changed_at = :now WHERE id {in ids}

-- name: pause_job
UPDATE plans SET paused_until = CAST(:paused_until AS BIGINT), pause_note = CAST(:note AS TEXT) WHERE job_id = :job_id

-- name: move_plans
UPDATE plans AS p SET wake_at = moved.wake_at, next_run_at = moved.next_run_at, source = moved.source,
  trail = moved.trail, redecide_at = moved.redecide_at, match_at = moved.match_at, fired_until = moved.fired_until, live_run = moved.live_run,
  is_running = moved.is_running, last_completed_at = moved.last_completed_at, failure_count = moved.failure_count,
  lost_count = moved.lost_count, started_count = moved.started_count, paused_until = moved.paused_until,
  pause_note = moved.pause_note, last_error = moved.last_error, hints = moved.hints, last_fold = moved.last_fold
FROM {rows moved: job_id text, wake_at bigint, next_run_at bigint, source text, trail text, redecide_at bigint, match_at bigint, fired_until bigint, live_run text, is_running bigint, last_completed_at bigint, failure_count bigint, lost_count bigint, started_count bigint, paused_until bigint, pause_note text, last_error text, hints text, last_fold text}
WHERE p.job_id = moved.job_id

-- name: fire_plans
UPDATE plans AS p SET wake_at = fired.wake_at, next_run_at = fired.next_run_at, source = fired.source,
  trail = fired.trail, redecide_at = fired.redecide_at, match_at = fired.match_at, fired_until = fired.fired_until, live_run = fired.live_run,
  is_running = 1, last_completed_at = fired.last_completed_at, started_count = fired.started_count, last_fold = NULL
FROM {rows fired: job_id text, live_run text, started_count bigint | wake_at bigint, next_run_at bigint, source text, trail text, redecide_at bigint, match_at bigint, fired_until bigint, last_completed_at bigint}
WHERE p.job_id = fired.job_id

-- name: claim_plans
UPDATE plans AS p SET live_run = claimed.run_id, last_completed_at = claimed.last_completed_at
FROM {rows claimed: job_id text, run_id text, last_completed_at bigint} WHERE p.job_id = claimed.job_id
