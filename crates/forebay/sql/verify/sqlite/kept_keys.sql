SELECT tenant, task, ordering_key, first_job, latest_job FROM kept_keys
