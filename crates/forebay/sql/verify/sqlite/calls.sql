SELECT kind, name, in_flight FROM calls
