-- How many jobs are done.
SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'
