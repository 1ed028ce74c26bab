-- Who applies definitions does so alone.
SELECT id FROM meta WHERE id = 1 FOR UPDATE
