-- What a token is for: a program, a link that lets a browser in once, or the session of a browser, which ends with the
-- token that opened it.
ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token';
ALTER TABLE tokens ADD COLUMN parent TEXT;
