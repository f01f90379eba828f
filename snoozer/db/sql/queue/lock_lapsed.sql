-- Lock claims of dead workers and expired leases, a bounded number at a time; `recover` reads the ledger after that. A
-- mark needs the row's lock: the next statement sees every mark that was committed before this statement had the lock,
-- and none can be written in between. The order and COALESCE make the planner use the index of claimed rows, even while
-- it has no statistics of a table that has grown: by the ids it would read all rows. After a database outage a
-- registered worker has one lease, from when the server was first seen again, to extend its claims.
WITH lapsed AS MATERIALIZED (
    SELECT snooze.id
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.claimed_at IS NOT NULL
      AND COALESCE(snooze.id BETWEEN :first_id AND :last_id, FALSE)
      AND (
          workers.state = 'dead'
          OR clock_timestamp() > GREATEST(
              snooze.lease_expires_at,
              CASE WHEN workers.id IS NOT NULL THEN snooze_server_met() + :lease END
          )
      )
    ORDER BY snooze.claimed_by
    LIMIT :batch_size
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
SELECT id
FROM lapsed
