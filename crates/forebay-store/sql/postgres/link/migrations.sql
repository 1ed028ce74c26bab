SELECT number, name, checksum, kind, release FROM migrations ORDER BY number
