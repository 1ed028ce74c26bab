-- What answers: its version, whether it follows another server, and as whom we are here.
SELECT current_setting('server_version'), pg_is_in_recovery(), CAST(session_user AS text)
