-- Where a job's definition comes from: the fleet, and the file and line as JSON. Empty for jobs that people add.
ALTER TABLE jobs ADD COLUMN fleet TEXT;
ALTER TABLE jobs ADD COLUMN origin TEXT;

CREATE INDEX jobs_of_fleet ON jobs (fleet) WHERE fleet IS NOT NULL;
CREATE INDEX jobs_of_agent ON jobs (agent, name) WHERE agent IS NOT NULL;

-- What was last applied from a file.
CREATE TABLE fleets (
  name TEXT NOT NULL PRIMARY KEY,
  file TEXT NOT NULL,
  description TEXT NOT NULL,
  timezone TEXT NOT NULL,
  pools TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at BIGINT NOT NULL
);

CREATE TABLE agents (
  name TEXT NOT NULL PRIMARY KEY,
  fleet TEXT NOT NULL,
  line BIGINT NOT NULL,
  description TEXT NOT NULL,
  timezone TEXT,
  max_concurrent BIGINT
);

-- Who may come in through the doors. Only hashes are kept.
CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  made_by TEXT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  used_at BIGINT
);

-- What signs the tokens of runs, so that none of them needs a row.
CREATE TABLE signing_keys (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

-- Who changed what, from what to what, through which door.
CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  caller TEXT NOT NULL,
  door TEXT NOT NULL,
  operation TEXT NOT NULL,
  subject TEXT NOT NULL,
  before TEXT,
  after TEXT
);

CREATE INDEX audit_of_subject ON audit (subject, id);

-- What happened, in order: one row for each transaction, with all that happened in it.
DROP TABLE events;
CREATE TABLE events (
  id TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  entries TEXT NOT NULL
);
