UPDATE tenant_load SET in_flight = in_flight + 1 WHERE tenant = ?1
