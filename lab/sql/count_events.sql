-- How often each kind of event was recorded.
SELECT kind, count(*) AS how_many FROM snooze_events GROUP BY kind
