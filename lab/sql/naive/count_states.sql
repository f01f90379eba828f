-- How many jobs of the naive loop are in each state.
SELECT
    CASE WHEN status = 'pending' AND remind_at <= now() THEN 'due' ELSE status END AS state,
    count(*) AS how_many
FROM naive_jobs
GROUP BY 1
