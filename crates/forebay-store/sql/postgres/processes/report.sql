INSERT INTO processes (id, name, build, roles, slots, pools, tasks, in_hand, started_at, heard_at)
VALUES (:id, :name, :build, :roles, :slots, :pools, :tasks, :in_hand, :started_at, :now)
ON CONFLICT (id) DO UPDATE SET in_hand = excluded.in_hand, heard_at = excluded.heard_at
