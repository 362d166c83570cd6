-- part: run_columns
r.id, r.job_id, r.job, r.agent, r.cause, r.origin, r.attempt, r.depth, r.parent_id, r.pool, r.concurrency_key, r.state, r.due_at,
r.last_due_at, r.folded, r.requested_at, r.start_after, r.queued_at, r.claimed_at, r.started_at, r.ended_at, r.source,
r.trail, r.reason, r.error, r.note, r.exit_code, r.http_status, r.result, r.response, r.input, r.usage, r.trace_id,
r.worker, r.token, r.cancel

-- part: listed_run_columns
r.id, r.job_id, r.job, r.agent, r.cause, r.origin, r.attempt, r.depth, r.parent_id, r.pool, r.concurrency_key, r.state, r.due_at,
r.last_due_at, r.folded, r.requested_at, r.start_after, r.queued_at, r.claimed_at, r.started_at, r.ended_at, r.source,
NULL, r.reason, r.error, NULL, r.exit_code, r.http_status, NULL, NULL, NULL, r.usage, r.trace_id, r.worker, r.token, r.cancel

-- part: run_filters
r.id < :before AND r.id >= :since
  AND (CAST(:agent AS TEXT) IS NULL OR r.agent = CAST(:agent AS TEXT))
  AND (CAST(:any_cause AS BIGINT) = 1 OR r.cause {in causes})
  AND (CAST(:any_state AS BIGINT) = 1 OR r.state {in states})

-- part: counted_columns
job_id, job, agent, state, cause

-- name: find_run
SELECT {use run_columns} FROM runs r WHERE r.id = :run_id

-- name: runs_by_prefix
SELECT {use run_columns} FROM runs r WHERE r.id >= :prefix AND r.id < :end ORDER BY r.id LIMIT :most

-- name: runs_by_id
SELECT {use run_columns} FROM runs r WHERE r.id {in ids} ORDER BY r.id

-- name: known_runs
SELECT id FROM runs WHERE id {in ids}

-- name: runs
SELECT {use listed_run_columns} FROM runs r WHERE r.id < :before ORDER BY r.id DESC LIMIT :most

-- name: filtered_runs
SELECT {use listed_run_columns} FROM runs r WHERE {use run_filters} ORDER BY r.id DESC LIMIT :most

-- name: filtered_runs_of_job
SELECT {use listed_run_columns} FROM runs r WHERE r.job_id = :job_id AND {use run_filters} ORDER BY r.id DESC LIMIT :most

-- name: filtered_live_runs
SELECT {use listed_run_columns} FROM runs r
WHERE r.id IN (
    SELECT run_id FROM queue WHERE CAST(:any_waiting AS BIGINT) = 1
    UNION ALL
    SELECT leased.id FROM {rows leased: id text}
  )
  AND (CAST(:job_id AS TEXT) IS NULL OR r.job_id = CAST(:job_id AS TEXT)) AND {use run_filters}
ORDER BY r.id DESC LIMIT :most

-- name: latest_kinds
SELECT {use counted_columns}, count(*) FROM (
  SELECT {use counted_columns} FROM runs WHERE id < :before AND id >= :since ORDER BY id DESC LIMIT :most
) AS latest GROUP BY {use counted_columns}

-- name: latest_kinds_of_job
SELECT {use counted_columns}, count(*) FROM (
  SELECT {use counted_columns} FROM runs WHERE job_id = :job_id AND id < :before AND id >= :since ORDER BY id DESC LIMIT :most
) AS latest GROUP BY {use counted_columns}

-- name: runs_due
SELECT {use run_columns} FROM runs r
WHERE r.job_id = :job_id AND r.due_at >= :begin AND r.due_at <= :end ORDER BY r.due_at

-- name: run_counts
SELECT state, count(*) FROM runs WHERE id >= :since GROUP BY state ORDER BY state

-- name: runs_of_job
SELECT {use run_columns} FROM runs r WHERE r.job_id = :job_id AND r.id < :before ORDER BY r.id DESC LIMIT :most

-- name: runs_of_name
SELECT {use listed_run_columns} FROM runs r WHERE r.job = :job AND r.id < :before ORDER BY r.id DESC LIMIT :most

-- name: insert_started_runs
INSERT INTO runs (id, job_id, job, agent, cause, origin, attempt, depth, pool, concurrency_key, state, due_at, requested_at, claimed_at,
  started_at, is_plain, source, trail, trace_id, worker, token)
SELECT id, job_id, job, agent, cause, cause, 1, 0, pool, concurrency_key, 'running', due_at, CAST(:now AS BIGINT), CAST(:now AS BIGINT),
  started_at, is_plain, source, trail, trace_id, CAST(:worker AS TEXT), CAST(:token AS BIGINT)
FROM {rows new: id text, job_id text, job text, trace_id text | agent text, cause text, pool text, concurrency_key text, due_at bigint, started_at bigint, is_plain bigint, source text, trail text}

-- name: insert_runs
INSERT INTO runs (id, job_id, job, agent, cause, origin, attempt, depth, parent_id, pool, concurrency_key, state, due_at, last_due_at,
  folded, requested_at, start_after, queued_at, ended_at, source, trail, reason, note, input, trace_id)
SELECT id, job_id, job, agent, cause, origin, attempt, depth, parent_id, pool, concurrency_key, state, due_at, last_due_at,
  folded, requested_at, start_after, queued_at, ended_at, source, trail, reason, note, input, trace_id
FROM {rows new: id text, job_id text, job text, agent text, cause text, origin text, attempt bigint, depth bigint, parent_id text, pool text, concurrency_key text, state text, due_at bigint, last_due_at bigint, folded bigint, requested_at bigint, start_after bigint, queued_at bigint, ended_at bigint, source text, trail text, reason text, note text, input text, trace_id text}

-- name: extend_folds
UPDATE runs AS r SET last_due_at = fold.last_due_at, folded = r.folded + fold.count, ended_at = :now
FROM {rows fold: id text, last_due_at bigint, count bigint} WHERE r.id = fold.id

-- name: claim_runs
UPDATE runs AS r SET state = 'running', claimed_at = :now, started_at = claimed.started_at, is_plain = claimed.is_plain,
  worker = CAST(:worker AS TEXT), token = CAST(:token AS BIGINT)
FROM {rows claimed: id text | started_at bigint, is_plain bigint} WHERE r.id = claimed.id AND r.state = 'queued'

-- name: start_runs
UPDATE runs SET started_at = :now WHERE id {in ids} AND state = 'running' AND token = :token RETURNING id

-- name: requeue_runs
UPDATE runs SET state = 'queued', worker = NULL, token = NULL, claimed_at = NULL
WHERE id {in ids} AND state = 'running' AND started_at IS NULL RETURNING id

-- name: end_plain_runs
UPDATE runs AS r SET state = 'succeeded', ended_at = :now, exit_code = ended.exit_code,
  http_status = ended.http_status, result = ended.result, response = ended.response
FROM {rows ended: run_id text | token bigint, exit_code bigint, http_status bigint, result text, response text}
WHERE r.id = ended.run_id AND r.token = ended.token AND r.state = 'running'
  AND r.is_plain = 1 AND NOT EXISTS (SELECT 1 FROM chains c WHERE c.parent = r.job)

-- name: unplain_runs
UPDATE runs SET is_plain = 0 WHERE id {in ids} AND state = 'running'

-- name: end_runs
UPDATE runs AS r SET state = ended.state, ended_at = :now, reason = ended.reason, error = ended.error, note = ended.note,
  exit_code = ended.exit_code, http_status = ended.http_status, result = ended.result, response = ended.response,
  usage = ended.usage
FROM {rows ended: id text, state text, reason text, error text, note text, exit_code bigint, http_status bigint, result text, response text, usage text}
WHERE r.id = ended.id

-- name: lock_runs
SELECT {use run_columns} FROM runs r WHERE r.id {in ids} ORDER BY r.id {wait r}

-- name: ask_cancel
UPDATE runs SET cancel = :cancel WHERE id {in ids} AND state = 'running' RETURNING id, worker

-- name: live_descendants
WITH RECURSIVE family (id) AS (
  SELECT id FROM runs WHERE parent_id = :run_id
  UNION
  SELECT r.id FROM runs r JOIN family f ON r.parent_id = f.id
)
SELECT {use run_columns} FROM runs r JOIN family f ON f.id = r.id WHERE r.state IN ('held', 'queued', 'running')

-- name: attempts
SELECT {use listed_run_columns} FROM runs r WHERE r.id IN (
    SELECT later.id FROM (
      SELECT n.id, n.trace_id FROM runs n WHERE n.job_id = :job_id AND n.id >= :run_id ORDER BY n.id LIMIT :most
    ) AS later WHERE later.trace_id = :trace_id
    UNION ALL
    SELECT earlier.id FROM (
      SELECT n.id, n.trace_id FROM runs n WHERE n.job_id = :job_id AND n.id < :run_id ORDER BY n.id DESC LIMIT :most
    ) AS earlier WHERE earlier.trace_id = :trace_id
  )
  AND r.parent_id IS NOT DISTINCT FROM CAST(:parent_id AS TEXT) AND r.due_at IS NOT DISTINCT FROM CAST(:due_at AS BIGINT)
ORDER BY r.id

-- name: ancestors
WITH RECURSIVE line (id, parent_id) AS (
  SELECT id, parent_id FROM runs WHERE id = :run_id
  UNION
  SELECT r.id, r.parent_id FROM runs r JOIN line ON r.id = line.parent_id
)
SELECT {use listed_run_columns} FROM runs r JOIN line ON line.id = r.id WHERE r.id <> :run_id ORDER BY r.depth DESC, r.id DESC

-- name: children_of_runs
SELECT {use listed_run_columns} FROM runs r WHERE r.parent_id {in ids} ORDER BY r.id LIMIT :most

-- name: cancelled_runs
SELECT id, cancel FROM runs WHERE id {in ids} AND state = 'running' AND cancel IS NOT NULL
