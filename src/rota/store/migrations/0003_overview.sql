-- What the overview asks costs as much as there is wrong: in a healthy fleet these indexes are empty.
CREATE INDEX plans_failing ON plans (failure_count) WHERE failure_count > 0 OR lost_count > 0;
CREATE INDEX plans_missed ON plans (job_id) WHERE last_fold LIKE '%|missed|%';
CREATE INDEX plans_paused ON plans (job_id) WHERE source = 'paused';
CREATE INDEX queue_held ON queue (start_after) WHERE is_held = 1;
CREATE INDEX heartbeats_silent ON heartbeats (run_id) WHERE status = 'silent';

-- One that vanished, as against one that said goodbye.
ALTER TABLE workers ADD COLUMN is_lost BIGINT NOT NULL DEFAULT 0;
CREATE INDEX workers_lost ON workers (ended_at) WHERE is_lost = 1;

CREATE INDEX machine_snapshots_of_worker ON machine_snapshots (worker, taken_at);

-- Runs that are no longer there, by the day in their job's zone on which they were put on record.
CREATE TABLE tallies (
  job_id TEXT NOT NULL,
  day TEXT NOT NULL,
  state TEXT NOT NULL,
  count BIGINT NOT NULL,
  seconds DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (job_id, day, state)
);

CREATE INDEX tallies_of_day ON tallies (day);
