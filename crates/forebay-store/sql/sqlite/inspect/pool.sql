SELECT (SELECT c.in_flight FROM calls c WHERE c.kind = 'pool' AND c.name = p.name),
       (SELECT c.in_flight FROM calls c WHERE c.kind = 'tokens' AND c.name = p.name), p.cooldown_until, p.cooldown_class
FROM pools p WHERE p.name = ?1
