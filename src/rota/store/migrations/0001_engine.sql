-- Instants are microseconds since 1970 in UTC, durations microseconds, yes and no are 1 and 0, JSON is text.

CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  agent TEXT,
  definition TEXT NOT NULL,
  version BIGINT NOT NULL,
  is_enabled BIGINT NOT NULL,
  is_proposed BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  scheduled_at BIGINT NOT NULL,
  changed_at BIGINT NOT NULL
);

-- Where a job stands: small, because every fire rewrites it. wake_at is the earlier of the next run and the end of a hint.
CREATE TABLE plans (
  job_id TEXT NOT NULL PRIMARY KEY,
  wake_at BIGINT,
  next_run_at BIGINT,
  source TEXT NOT NULL,
  trail TEXT NOT NULL,
  redecide_at BIGINT,
  match_at BIGINT,
  fired_until BIGINT,
  live_run TEXT,
  is_running BIGINT NOT NULL DEFAULT 0,
  last_completed_at BIGINT,
  failure_count BIGINT NOT NULL DEFAULT 0,
  lost_count BIGINT NOT NULL DEFAULT 0,
  started_count BIGINT NOT NULL DEFAULT 0,
  paused_until BIGINT,
  pause_note TEXT,
  last_error TEXT,
  hints TEXT NOT NULL DEFAULT '[]',
  last_fold TEXT
) {fill 70};

CREATE INDEX plans_wake ON plans (wake_at) WHERE wake_at IS NOT NULL;

-- Who is fired by whom.
CREATE TABLE chains (
  parent TEXT NOT NULL,
  job_id TEXT NOT NULL,
  PRIMARY KEY (parent, job_id)
);

CREATE TABLE runs (
  id TEXT NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL,
  job TEXT NOT NULL,
  agent TEXT,
  cause TEXT NOT NULL,
  origin TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  parent_id TEXT,
  pool TEXT NOT NULL,
  concurrency_key TEXT,
  state TEXT NOT NULL,
  due_at BIGINT,
  last_due_at BIGINT,
  folded BIGINT,
  requested_at BIGINT NOT NULL,
  start_after BIGINT,
  queued_at BIGINT,
  claimed_at BIGINT,
  started_at BIGINT,
  ended_at BIGINT,
  source TEXT,
  trail TEXT,
  reason TEXT,
  error TEXT,
  note TEXT,
  exit_code BIGINT,
  http_status BIGINT,
  result TEXT,
  response TEXT,
  input TEXT,
  usage TEXT,
  trace_id TEXT,
  worker TEXT,
  token BIGINT,
  is_plain BIGINT NOT NULL DEFAULT 0,
  cancel TEXT
) {fill 50};

CREATE UNIQUE INDEX runs_occurrence ON runs (job_id, due_at) WHERE cause = 'schedule' AND attempt = 1;
CREATE INDEX runs_of_job ON runs (job_id, id);
CREATE INDEX runs_of_parent ON runs (parent_id) WHERE parent_id IS NOT NULL;

-- Runs that wait; a row leaves when its run is claimed or ends.
CREATE TABLE queue (
  pool TEXT NOT NULL,
  priority BIGINT NOT NULL,
  start_after BIGINT NOT NULL,
  run_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  agent TEXT,
  concurrency_key TEXT,
  cause TEXT NOT NULL,
  may_overlap BIGINT NOT NULL,
  is_held BIGINT NOT NULL DEFAULT 0,
  expires_at BIGINT,
  PRIMARY KEY (pool, priority, start_after, run_id)
) {clustered};

CREATE INDEX queue_of_job ON queue (job_id);
CREATE INDEX queue_start ON queue (start_after);
CREATE INDEX queue_expiry ON queue (expires_at) WHERE expires_at IS NOT NULL;

-- Limits and how much of each is taken: scope is pool, agent, key or all.
CREATE TABLE slots (
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  size BIGINT,
  used BIGINT NOT NULL,
  PRIMARY KEY (scope, name)
) {fill 50};

CREATE TABLE workers (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid BIGINT NOT NULL,
  process_started_at BIGINT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL,
  running BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  beat_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  ended_at BIGINT
) {fill 50};

-- One row for each batch that a worker claimed. Its number, which no later row gets again, is the token on its runs.
CREATE TABLE leases (
  token {numbered},
  worker TEXT NOT NULL,
  taken_at BIGINT NOT NULL,
  run_ids TEXT NOT NULL
);

CREATE INDEX leases_of_worker ON leases (worker);

CREATE TABLE output (
  run_id TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  stream TEXT NOT NULL,
  written_at BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (run_id, sequence)
);

CREATE TABLE idempotency_keys (
  key TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL,
  made_at BIGINT NOT NULL
);

CREATE TABLE heartbeats (
  worker TEXT NOT NULL,
  run_id TEXT NOT NULL,
  status TEXT NOT NULL,
  context TEXT NOT NULL,
  last_seen_at BIGINT NOT NULL,
  PRIMARY KEY (worker, run_id)
);

CREATE TABLE machine_snapshots (
  id TEXT NOT NULL PRIMARY KEY,
  worker TEXT NOT NULL,
  taken_at BIGINT NOT NULL,
  active_workers BIGINT NOT NULL,
  active_agents BIGINT NOT NULL,
  running BIGINT NOT NULL,
  tmux_sessions BIGINT NOT NULL,
  cpu_percent DOUBLE PRECISION NOT NULL,
  memory_mb DOUBLE PRECISION NOT NULL,
  load DOUBLE PRECISION NOT NULL,
  context TEXT NOT NULL
);

CREATE INDEX machine_snapshots_taken ON machine_snapshots (taken_at);

-- What happened, in order, for notices, streams and the audit.
CREATE TABLE events (
  id TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  event TEXT NOT NULL,
  actor TEXT NOT NULL,
  job TEXT,
  run_id TEXT,
  detail TEXT NOT NULL
);
