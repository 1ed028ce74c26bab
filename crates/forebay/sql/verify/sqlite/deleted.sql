SELECT jobs, attempts, accepted_until FROM retention
