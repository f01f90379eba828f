-- Properties that the guarantees require: version, encoding, writability, and whether commits are durable.
SELECT
    current_setting('server_version') AS version,
    CAST(current_setting('server_version_num') AS int) AS version_number,
    current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS read_only,
    ARRAY(
        SELECT name
        FROM unnest(ARRAY['fsync', 'full_page_writes', 'synchronous_commit']) AS name
        WHERE current_setting(name) = 'off'
    ) AS switched_off
