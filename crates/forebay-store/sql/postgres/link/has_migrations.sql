SELECT to_regclass('migrations') IS NOT NULL
