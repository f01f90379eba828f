-- How many jobs are done.
SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'
