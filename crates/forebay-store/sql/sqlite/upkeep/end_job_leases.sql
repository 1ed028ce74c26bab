-- At start nobody else can own a job of this file: whoever did is dead.
UPDATE jobs SET lease_until = ?1 WHERE lease_until > ?1
