SELECT m.incarnation, l.current, l.closed FROM meta m, log_epochs l
