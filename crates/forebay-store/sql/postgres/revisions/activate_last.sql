UPDATE meta SET active_revision = (SELECT max(number) FROM revisions) WHERE id = 1
