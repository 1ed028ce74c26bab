SELECT incarnation FROM meta
