-- The last transaction of a desk that was committed. One that is still under way on a connection that was lost is waited
-- for. The number of a transaction would not do: after a crash another one may get it.
SELECT last FROM desks WHERE id = ?1 FOR UPDATE
