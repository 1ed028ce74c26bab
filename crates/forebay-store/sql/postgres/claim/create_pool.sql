-- Another process may do it at the same time: whoever goes on reads the row again, and locks it.
INSERT INTO pools (name) VALUES (?1) ON CONFLICT (name) DO NOTHING
