-- name: insert_output
INSERT INTO output (run_id, sequence, stream, written_at, text)
SELECT run_id, sequence, stream, written_at, text
FROM {rows chunk: run_id text, sequence bigint, stream text, written_at bigint, text text}
WHERE true ON CONFLICT DO NOTHING

-- name: trim_output
DELETE FROM output WHERE run_id = :run_id AND sequence > :head AND sequence < :tail

-- name: output
SELECT sequence, stream, written_at, text FROM output
WHERE run_id = :run_id AND sequence > :after ORDER BY sequence LIMIT :most

-- name: output_sizes
SELECT sequence, octet_length(text) AS size FROM output
WHERE run_id = :run_id AND sequence > :after ORDER BY sequence LIMIT :most

-- name: output_sizes_before
SELECT sequence, octet_length(text) AS size FROM output
WHERE run_id = :run_id AND sequence > :after AND sequence < :before ORDER BY sequence DESC LIMIT :most

-- name: find_key
SELECT run_id FROM idempotency_keys WHERE key = :key

-- name: insert_key
INSERT INTO idempotency_keys (key, run_id, made_at) VALUES (:key, :run_id, :now) ON CONFLICT DO NOTHING

-- name: insert_events
INSERT INTO events (id, at, entries) VALUES (:id, :now, :entries)

-- name: events
SELECT id, at, entries FROM events WHERE id > :after ORDER BY id LIMIT :most

-- name: latest_events
SELECT id, at, entries FROM events WHERE id < :before ORDER BY id DESC LIMIT :most
