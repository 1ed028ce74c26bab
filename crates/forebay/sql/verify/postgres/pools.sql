SELECT name, in_flight FROM pools
