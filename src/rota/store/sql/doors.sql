-- part: agent_columns
name, fleet, line, description, timezone, max_concurrent

-- part: token_columns
id, name, role, hash, made_at, made_by, expires_at, revoked_at, used_at, kind, parent

-- name: fleets
SELECT name, file, description, timezone, pools, checksum, applied_at FROM fleets ORDER BY name

-- name: jobs_by_fleet
SELECT fleet, count(*) FROM jobs WHERE fleet IS NOT NULL GROUP BY fleet ORDER BY fleet

-- name: save_fleet
INSERT INTO fleets (name, file, description, timezone, pools, checksum, applied_at)
VALUES (:name, :file, :description, :timezone, :pools, :checksum, :now)
ON CONFLICT (name) DO UPDATE SET file = excluded.file, description = excluded.description,
  timezone = excluded.timezone, pools = excluded.pools, checksum = excluded.checksum, applied_at = excluded.applied_at

-- name: delete_fleets
DELETE FROM fleets WHERE name {in names}

-- name: agents
SELECT {use agent_columns} FROM agents ORDER BY name

-- name: save_agents
INSERT INTO agents (name, fleet, line, description, timezone, max_concurrent)
SELECT name, fleet, line, description, timezone, max_concurrent
FROM {rows new: name text, fleet text, line bigint, description text, timezone text, max_concurrent bigint} WHERE true
ON CONFLICT (name) DO UPDATE SET fleet = excluded.fleet, line = excluded.line, description = excluded.description,
  timezone = excluded.timezone, max_concurrent = excluded.max_concurrent

-- name: delete_agents
DELETE FROM agents WHERE fleet = :fleet AND name {in names}

-- name: insert_token
INSERT INTO tokens (id, name, role, kind, parent, hash, made_at, made_by, expires_at)
VALUES (:id, :name, :role, :kind, CAST(:parent AS TEXT), :hash, :now, :made_by, CAST(:expires_at AS BIGINT))

-- name: tokens
SELECT {use token_columns} FROM tokens ORDER BY id

-- name: find_token
SELECT {use token_columns} FROM tokens WHERE id = :id

-- name: revoke_token
UPDATE tokens SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL

-- name: revoke_sessions_of
UPDATE tokens SET revoked_at = :now WHERE parent = :id AND revoked_at IS NULL

-- name: delete_old_sessions
DELETE FROM tokens WHERE kind <> 'token' AND expires_at < :before

-- name: use_token
UPDATE tokens SET used_at = :now WHERE id = :id

-- name: signing_key
SELECT value FROM signing_keys WHERE name = :name

-- name: insert_signing_key
INSERT INTO signing_keys (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING

-- name: insert_audit
INSERT INTO audit (id, at, caller, door, operation, subject, before, after)
SELECT id, at, caller, door, operation, subject, before, after
FROM {rows new: id text, at bigint, caller text, door text, operation text, subject text, before text, after text}

-- name: audit
SELECT id, at, caller, door, operation, subject, before, after FROM audit
WHERE id < :before AND (CAST(:subject AS TEXT) IS NULL OR subject = CAST(:subject AS TEXT))
  AND (CAST(:like AS TEXT) IS NULL OR lower(subject) LIKE CAST(:like AS TEXT) ESCAPE '!') ORDER BY id DESC LIMIT :most

-- name: delete_old_audit
DELETE FROM audit WHERE id < :before
