SELECT count(*), min(failed_at) FROM dead_letters WHERE state = 'open'
