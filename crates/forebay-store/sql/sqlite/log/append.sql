INSERT INTO events (seq, tenant, job, type, state_version, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
